internal import RunLoopLibc
internal import Synchronization

extension RunLoop {
  /// Whether RunLoopKit reports on standard error what a call has ignored or changed without an error: an item that was
  /// not added, a run of a mode that does not exist, a value that counts as another one [RLK-DIAG-2, RLK-DIAG-3]. Each
  /// cause once, in a line of its own.
  ///
  /// False at first, unless the environment has `RUNLOOPKIT_DIAGNOSTICS` with anything but nothing or `0`. For
  /// development and tests: what is said is no mistake everywhere.
  /// - Thread: Any.
  /// - Blocks: As write(2) to standard error, in the call that is reported.
  /// - Complexity: Off, a call pays nothing where all is well, and a load where something would be said [RLK-DIAG-1].
  public static var printsDiagnostics: Bool {
    get { Diagnostics.isOn }
    set { Diagnostics.setOn(newValue) }
  }
}

/// Says each thing once.
enum Diagnostics {
  private static let on: Atomic<Bool> = {
    let wanted = getenv("RUNLOOPKIT_DIAGNOSTICS").map { String(cString: $0) } ?? ""
    return Atomic(!wanted.isEmpty && wanted != "0")
  }()
  private static let said = Said()

  static var isOn: Bool { on.load(ordering: .relaxed) }

  static func setOn(_ isOn: Bool) { on.store(isOn, ordering: .relaxed) }

  /// With no lock held.
  @inline(never)
  static func say(_ text: @autoclosure () -> String) {
    guard isOn else { return }
    let text = text()
    if said.isNew(text) { StandardError.write("RunLoopKit: \(text)\n") }
  }

  private final class Said: @unchecked Sendable {
    /// Of different texts: a program that makes up names does not fill the memory.
    private static let most = 1000
    private let lock = Lock()
    private var texts: Set<String> = []

    func isNew(_ text: String) -> Bool {
      lock.withLock { texts.count < Self.most && texts.insert(text).inserted }
    }
  }
}
