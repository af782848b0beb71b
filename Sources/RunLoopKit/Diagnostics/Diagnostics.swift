internal import Glibc
internal import Synchronization

extension RunLoop {
  /// Whether the kit says on standard error what a call has silently left undone or cut: an item that was not added, a run of
  /// a mode that does not exist, a value that counts as another one. Each cause once, in a line of its own.
  ///
  /// False at first, unless the environment has `RUNLOOPKIT_DIAGNOSTICS` with anything but nothing or `0`. For development and
  /// tests: what is said is no mistake everywhere.
  /// - Thread: Any. - Blocks: As write(2) to standard error, in the call that is told of. - Complexity: Off, a call pays
  ///   nothing where all is well, and a load where something would be said [RLK-DIAG-1].
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

// MARK: What is said of calls

extension RunLoop {
  /// `add(_:to:)` has answered false. Nothing is said of an item that is there already.
  @inline(never)
  func explainIgnored(_ item: Item, _ mode: Mode) {
    guard Diagnostics.isOn else { return }
    let what = "add(_:to: \"\(mode)\"): \(item.nameForDiagnostics)"
    if item.isForked {
      Diagnostics.say("\(what) was made by the parent process and is not added; make another one after fork(2)")
    } else if item.isInvalidated {
      Diagnostics.say(
        "\(what) is invalid and is not added; an invalidated item is over, as is a one-shot timer "
          + "that has fired")
    } else if !item.isFree(for: self) {
      Diagnostics.say(
        "\(what) is in another loop and is not added; a timer and an observer belong to "
          + "one loop at a time")
    }
  }

  /// A run is finished before its first pass.
  @inline(never)
  func explainFinished(_ name: Mode) {
    guard Diagnostics.isOn, name != .common else { return }
    let (isKnown, filled) = lock.withLock {
      let modes = state.pointee.modes
      return (
        modes.contains { $0.pointee.name == name }, modes.filter { !$0.pointee.hasNoItems }.map { $0.pointee.name }
      )
    }
    let others = filled.isEmpty ? "no mode has anything in it" : "there is something in \(Self.list(filled))"
    if !isKnown {
      Diagnostics.say("run(in: \"\(name)\"): the loop has no such mode, and the run is finished at once; \(others)")
    } else if !filled.isEmpty {
      Diagnostics.say("run(in: \"\(name)\"): nothing is in this mode, and the run is finished at once; \(others)")
    }
  }

  private static func list(_ modes: [Mode]) -> String { modes.map { "\"\($0)\"" }.sorted().joined(separator: ", ") }
}

extension RunLoop.Item {
  /// Kind and label: nothing that differs from one call to the next.
  fileprivate final var nameForDiagnostics: String {
    let name =
      switch kind {
      case .source: "a source"
      case .port: "a port"
      case .portSource: "a port source"
      case .descriptorSource: "a descriptor source"
      case .eventSource, .connection: "an event source"
      case .timer: "a timer"
      case .observer: "an observer"
      }
    return name + labelText
  }
}
