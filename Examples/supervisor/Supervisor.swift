import Glibc
import RunLoopEvents
import RunLoopKit
import RunLoopPorts
import Synchronization

/// Starts workers, and starts them again when they die. Everything happens on the loop of the thread that made it.
final class Supervisor: Sendable {
  /// What is known of a worker; `right` is nil from its death to the next hello.
  struct Worker: Sendable {
    var right: RunLoop.Port.SendRight?
    var child: RunLoop.ChildSource?
    var starts = 0
    /// How the processes before this one ended.
    var ends: [RunLoop.ExitStatus] = []
  }

  let loop = RunLoop.current
  private let name = "supervisor-\(getpid())"
  private let workers = Mutex<[String: Worker]>([:])
  private let isClosing = Atomic<Bool>(false)
  private let port = Mutex<RunLoop.Port?>(nil)

  /// From here on workers find it by its name.
  func open() throws {
    let port = try RunLoop.Port(registeredAs: name, replying: { [weak self] _, message in self?.answer(message) })
    try loop.add(port)
    self.port.withLock { $0 = port }
  }

  func worker(_ name: String) -> Worker { workers.withLock { $0[name] ?? Worker() } }

  func start(_ name: String) throws {
    let processID = try RunLoop.ChildSource.spawn("/proc/self/exe", arguments: ["worker", name, self.name])
    let child = try RunLoop.ChildSource(processID: processID) { [weak self] _, status in
      self?.ended(name, status)
    }
    workers.withLock { workers in
      workers[name, default: Worker()].child = child
      workers[name]?.starts += 1
    }
    try loop.add(child)
  }

  private func ended(_ name: String, _ status: RunLoop.ExitStatus) {
    workers.withLock { $0[name]?.ends.append(status) }
    guard !isClosing.load(ordering: .relaxed) else { return }
    do { try start(name) } catch { Program.expect(false, "\(name) cannot be started again: \(error)") }
  }

  /// A worker says hello: from now on it can be asked. What it gets for an answer says that it is expected.
  private func answer(_ message: RunLoop.Message) -> RunLoop.Message? {
    guard message.topic == .hello, let right = message.rights.first else { return nil }
    let name = message.text
    // The kernel tells who has sent it, the message does not.
    guard message.sender?.processID == worker(name).child?.processID else { return nil }
    workers.withLock { $0[name]?.right = right }
    // Called on the thread that notices it, which may be the library's.
    right.onInvalidation { [weak self, loop] in try? loop.performAsSource { self?.lost(name) } }
    return RunLoop.Message(.hello)
  }

  /// The one that is gone need not be the one that is known now.
  private func lost(_ name: String) {
    workers.withLock { if $0[name]?.right?.isValid == false { $0[name]?.right = nil } }
  }

  func ask(_ name: String, _ message: RunLoop.Message) throws -> RunLoop.Message {
    guard let right = worker(name).right else { throw RunLoopError.portInvalid }
    return try right.request(message, timeout: .seconds(30), in: .answers)
  }

  /// Runs the loop, event by event, until something has happened; false if it does not.
  func run(until hasHappened: () -> Bool) throws -> Bool {
    while !hasHappened() {
      guard try loop.run(for: .seconds(30), returnAfterSourceHandled: true) == .handledSource else { return false }
    }
    return true
  }

  /// Workers whose supervisor's port is gone go home.
  func close() {
    isClosing.store(true, ordering: .relaxed)
    port.withLock { $0.take() }?.invalidate()
  }
}

extension RunLoop.Mode {
  /// While the supervisor waits for an answer it starts nobody.
  static let answers = RunLoop.Mode(rawValue: "supervisor.answers")
}
