internal import RunLoopLibc
internal import Synchronization

/// Reports what no call can throw. All parts of the library use it.
package enum Diagnosis {
  static let settings = DiagnosisSettings()

  static var reportsHints: Bool { settings.reports(.hint) }

  /// Reports a hint, each text once. The caller must hold no lock.
  @inline(never)
  static func hint(_ text: @autoclosure () -> String) {
    guard reportsHints else { return }
    let text = text()
    if settings.isNew(text) { report(.hint, text) }
  }

  /// Reports a hint whose text varies, once for each key. The caller may hold a lock, or be inside a pass: as for
  /// `warnLocked`, another thread calls the handler.
  @inline(never)
  static func hintLocked(once key: @autoclosure () -> String, _ text: @autoclosure () -> String) {
    guard reportsHints, settings.isNew(key()) else { return }
    reportLocked(.hint, text())
  }

  /// Reports a warning. The caller must hold no lock.
  package static func warn(_ text: String) { report(.warning, text) }

  /// Does what `warn` does, for a caller that may hold a lock. Another thread calls the handler. A handler that is
  /// installed during this call does not get the text.
  package static func warnLocked(_ text: String) { reportLocked(.warning, text) }

  private static func reportLocked(_ level: RunLoop.Diagnostics.Level, _ text: String) {
    guard settings.reports(level) else { return }
    guard settings.hasHandler else { return StandardError.write(line(text)) }
    guard settings.append((level, text)) else { return }  // a delivering thread runs already, and takes the text
    if !startDelivering() { while let (_, text) = settings.takePending() { StandardError.write(line(text)) } }
  }

  fileprivate static func report(_ level: RunLoop.Diagnostics.Level, _ text: String) {
    guard settings.reports(level) else { return }
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

  /// Starts a thread that delivers reports. Returns false if the system refuses to make one.
  private static func startDelivering() -> Bool {
    var (attributes, thread, all, before) = (pthread_attr_t(), pthread_t(), sigset_t(), sigset_t())
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &before)  // the new thread inherits the mask
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return pthread_create(&thread, &attributes, deliverPending, nil) == 0
  }
}

/// The main function of the thread that delivers the reports of `warnLocked` and `hintLocked`.
private func deliverPending(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  while let (level, text) = Diagnosis.settings.takePending() { Diagnosis.report(level, text) }
  return nil
}

/// The program's settings, the hints that were reported, and the reports that wait for a thread.
package final class DiagnosisSettings: @unchecked Sendable {
  typealias Level = RunLoop.Diagnostics.Level

  /// How many hints are reported at most, since `hints` keeps each text or key, and a program may use ever new names.
  private static let most = 1000
  private static let silence: Int32 = 2

  private let least: Atomic<Int32>
  private let lock = Lock()
  private var handler: (@Sendable (RunLoop.Diagnostics.Level, String) -> Void)?
  private var hints: Set<String> = []
  private var pending: [(Level, String)] = []
  /// The process in which a thread delivers `pending`; 0 if no thread does.
  private var deliverer: UInt32 = 0

  package init() {
    let wanted = getenv("RUNLOOPKIT_DIAGNOSTICS").map { String(cString: $0) } ?? ""
    let level: Level = wanted.isEmpty ? Self.levelOfBuild : wanted == "0" ? .warning : .hint
    least = Atomic(Self.rank(of: level))
  }

  /// SwiftPM builds a program and the packages that it depends on in one configuration, and defines DEBUG in that for
  /// debugging (docs/decisions/0048).
  private static var levelOfBuild: Level {
    #if DEBUG
      .hint
    #else
      .warning
    #endif
  }

  package var value: RunLoop.Diagnostics {
    get {
      lock.withLock {
        let level = [Level.hint, .warning].first { reports($0) }
        return RunLoop.Diagnostics(level: level, handler: handler)
      }
    }
    set {
      var handler = newValue.handler
      lock.withLock {
        least.store(newValue.level.map(Self.rank) ?? Self.silence, ordering: .relaxed)
        swap(&self.handler, &handler)
      }
      withExtendedLifetime(handler) {}  // releases the previous handler without the lock
    }
  }

  private static func rank(of level: Level) -> Int32 { level == .warning ? 1 : 0 }

  func reports(_ level: RunLoop.Diagnostics.Level) -> Bool { Self.rank(of: level) >= least.load(ordering: .relaxed) }

  var hasHandler: Bool { lock.withLock { handler != nil } }

  func isNew(_ hint: String) -> Bool {
    lock.withLock { hints.count < Self.most && hints.insert(hint).inserted }
  }

  /// Adds a text. Returns true if no thread delivers the texts yet; the caller must then start one.
  func append(_ report: (Level, String)) -> Bool {
    lock.withLock {
      pending.append(report)
      defer { deliverer = Kernel.forkGeneration }
      return deliverer != Kernel.forkGeneration
    }
  }

  /// Takes the next text. Returns nil if there is none; the calling thread then stops delivering.
  func takePending() -> (Level, String)? {
    lock.withLock {
      if pending.isEmpty { deliverer = 0 }
      return pending.isEmpty ? nil : pending.removeFirst()
    }
  }
}
