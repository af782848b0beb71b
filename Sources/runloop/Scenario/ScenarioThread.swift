import RunLoopKit
internal import RunLoopLibc
import Synchronization

/// A thread of a scenario: the thread of a section, or the one that executes the `at` lines.
final class ScenarioThread: Sendable {
  let name: String
  /// Begins the lines that this thread traces.
  let prefix: String
  let program: [Statement]
  private let state = Mutex(State())
  private let ownLine = Atomic<Int>(0)
  private let ownDepth = Atomic<Int>(0)

  /// The line of the statement that the thread executes. Only the thread itself uses this.
  var line: Int {
    get { ownLine.load(ordering: .relaxed) }
    set { ownLine.store(newValue, ordering: .relaxed) }
  }

  /// The number of the thread's runs that are on the stack. Only the thread itself uses this.
  var depth: Int {
    get { ownDepth.load(ordering: .relaxed) }
    set { ownDepth.store(newValue, ordering: .relaxed) }
  }

  private struct State {
    var hasStarted = false
    var loop: RunLoop?
    /// Kept until `join`: a loop that ends calls the `cancel` hooks of its sources, and their lines name the loop.
    var loopIdentity: ObjectIdentifier?
    var worker: WorkerThread?
  }

  init(name: String, prefix: String, program: [Statement] = []) {
    self.name = name
    self.prefix = prefix
    self.program = program
  }

  /// The thread's loop. Nil before its creation, and after the end of a spawned thread's program.
  var loop: RunLoop? { state.withLock { $0.loop } }

  var loopIdentity: ObjectIdentifier? { state.withLock { $0.loopIdentity } }

  var hasStarted: Bool { state.withLock { $0.hasStarted } }

  /// Returns false if the thread was started before.
  func markStarted() -> Bool {
    state.withLock { state in
      defer { state.hasStarted = true }
      return !state.hasStarted
    }
  }

  func obtainLoop(_ loop: RunLoop) {
    state.withLock {
      $0.loop = loop
      $0.loopIdentity = ObjectIdentifier(loop)
    }
  }

  func giveUpLoop() {
    // The result, and so the loop, is released outside the lock.
    _ = state.withLock { $0.loop.take() }
  }

  func setWorker(_ worker: WorkerThread) {
    state.withLock { $0.worker = worker }
  }

  func join() {
    state.withLock { $0.worker.take() }?.join()
    state.withLock { $0.loopIdentity = nil }
  }
}

/// Finds the scenario's thread for the calling thread.
final class ThreadDirectory: Sendable {
  private let threads = Mutex<[pthread_t: ScenarioThread]>([:])

  func enter(_ thread: ScenarioThread) {
    threads.withLock { $0[pthread_self()] = thread }
  }

  /// Nil on a thread that is not in the scenario.
  var current: ScenarioThread? {
    threads.withLock { $0[pthread_self()] }
  }
}
