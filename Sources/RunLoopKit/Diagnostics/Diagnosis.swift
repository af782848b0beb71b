internal import RunLoopLibc
internal import Synchronization

/// Reports what no call can throw, for all parts of the library.
package enum Diagnosis {
  static let settings = DiagnosisSettings()

  static var tellsHints: Bool { settings.tells(.hint) }

  /// Reports a hint, each text once. With no lock held.
  @inline(never)
  static func hint(_ text: @autoclosure () -> String) {
    guard tellsHints else { return }
    let text = text()
    if settings.isNew(text) { tell(.hint, text) }
  }

  /// Reports a warning. With no lock held.
  package static func warn(_ text: String) { tell(.warning, text) }

  /// Reports a warning if the caller holds a lock, or may hold one. A thread of its own calls the handler.
  package static func warnLocked(_ text: String) {
    guard settings.tells(.warning), settings.hasHandler else { return tell(.warning, text) }
    guard settings.append(text) else { return }  // the delivering thread takes it
    if !startTelling() { while let text = settings.takeUntold() { StandardError.write(line(text)) } }
  }

  private static func tell(_ level: RunLoop.Diagnostics.Level, _ text: String) {
    guard settings.tells(level) else { return }
    guard let handler = settings.value.handler else { return StandardError.write(line(text)) }
    handler(level, inOneLine(text))
  }

  /// Escapes control characters: names come from the program, and may have any characters in them.
  private static func inOneLine(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return text }
    return text.unicodeScalars.reduce(into: "") { line, scalar in
      line += scalar.value < 0x20 || scalar.value == 0x7F ? scalar.escaped(asASCII: true) : String(scalar)
    }
  }

  private static func line(_ text: String) -> String { "RunLoopKit: \(inOneLine(text))\n" }

  /// Starts a thread that delivers reports. Returns false if the system refuses it.
  private static func startTelling() -> Bool {
    var (attributes, thread, all, before) = (pthread_attr_t(), pthread_t(), sigset_t(), sigset_t())
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &before)  // the new thread inherits the mask
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return pthread_create(&thread, &attributes, tellUntold, nil) == 0
  }
}

/// The main function of the thread that delivers reports which were made under a lock.
private func tellUntold(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  while let text = Diagnosis.settings.takeUntold() { Diagnosis.warn(text) }
  return nil
}

/// The program's settings, the hints that were reported, and the warnings that wait for a thread.
final class DiagnosisSettings: @unchecked Sendable {
  private typealias Level = RunLoop.Diagnostics.Level

  /// The most different hints that are reported: a program that makes up names must not fill the memory.
  private static let most = 1000
  private static let silence: Int32 = 2

  private let least: Atomic<Int32>
  private let lock = Lock()
  private var handler: (@Sendable (RunLoop.Diagnostics.Level, String) -> Void)?
  private var hints: Set<String> = []
  private var untold: [String] = []
  /// The process in which a thread delivers `untold`; 0: no thread does.
  private var teller: UInt32 = 0

  init() {
    let wanted = getenv("RUNLOOPKIT_DIAGNOSTICS").map { String(cString: $0) } ?? ""
    let level: Level = wanted.isEmpty || wanted == "0" ? .warning : .hint
    least = Atomic(Self.rank(of: level))
  }

  var value: RunLoop.Diagnostics {
    get {
      lock.withLock {
        let level = [Level.hint, .warning].first { tells($0) }
        return RunLoop.Diagnostics(level: level, handler: handler)
      }
    }
    set {
      var handler = newValue.handler
      lock.withLock {
        least.store(newValue.level.map(Self.rank) ?? Self.silence, ordering: .relaxed)
        swap(&self.handler, &handler)
      }
      withExtendedLifetime(handler) {}  // releases what the previous handler held, without the lock
    }
  }

  private static func rank(of level: Level) -> Int32 { level == .warning ? 1 : 0 }

  func tells(_ level: RunLoop.Diagnostics.Level) -> Bool { Self.rank(of: level) >= least.load(ordering: .relaxed) }

  var hasHandler: Bool { lock.withLock { handler != nil } }

  func isNew(_ hint: String) -> Bool {
    lock.withLock { hints.count < Self.most && hints.insert(hint).inserted }
  }

  /// Adds a text. Returns true if no thread delivers the texts yet: the caller must start one.
  func append(_ text: String) -> Bool {
    lock.withLock {
      untold.append(text)
      defer { teller = Kernel.forkGeneration }
      return teller != Kernel.forkGeneration
    }
  }

  /// Takes the next text. Nil: there is none, and the calling thread stops delivering.
  func takeUntold() -> String? {
    lock.withLock {
      if untold.isEmpty { teller = 0 }
      return untold.isEmpty ? nil : untold.removeFirst()
    }
  }
}
