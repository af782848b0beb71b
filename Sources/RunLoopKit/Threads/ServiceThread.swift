internal import RunLoopLibc

/// A thread that the library starts for the whole process when it is first needed, and then keeps. If the thread ends,
/// because its loop has lost its descriptors or user code has ended it, another one is started.
///
/// A process has one for connections, and one for the jobs of loops that have ended. Connections have their own thread,
/// because a job is user code, which may block or end its thread while tasks await answers on connections.
package final class ServiceThread: ProcessWideObject, @unchecked Sendable {
  package struct Running {
    package let thread: RunLoop.Thread
    package let loop: RunLoop
  }

  /// Held while a thread starts, so that only one starts at a time: the process may have room for only one more.
  private let starting = Lock()
  /// Also guards data of this object's owner.
  package let lock = Lock()
  package var forkGeneration: UInt32 { lock.forkGeneration }
  private let name: String
  /// Guarded by `lock`.
  package private(set) var latest: Running?

  package init(_ name: String) { self.name = name }

  /// The running thread; nil if there is none.
  package var current: Running? { lock.withLock { runs ? latest : nil } }

  /// Under the lock.
  private var runs: Bool { latest?.thread.isRunning == true }

  /// Returns the running thread, and starts one if there is none. Throws if the system has no thread or descriptors
  /// left.
  /// - Parameter setUp: Called on a new thread before anything else. It must not call this function.
  package func running(_ setUp: @escaping @Sendable (RunLoop) -> Void = { _ in }) throws -> Running {
    if let current { return current }
    starting.lock()
    defer { starting.unlock() }
    if let current { return current }
    let thread = RunLoop.Thread(name: name, setUp: setUp)
    try start(thread)
    guard let loop = thread.loop else { throw RunLoopError.loopEnded }
    let started = Running(thread: thread, loop: loop)
    var old: Running? = started
    lock.withLock { swap(&latest, &old) }
    withExtendedLifetime(old) {}  // the previous thread is released without the lock
    return started
  }

  /// Has the next caller start another thread: `old` takes no more work, though it may still run. Under the lock.
  package func forget(_ old: RunLoop.Thread) { if latest?.thread === old { latest = nil } }

  /// Starts a thread with the system's kernel table. The thread blocks all signals except those that report its own
  /// faults.
  private func start(_ thread: RunLoop.Thread) throws {
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT] { sigdelset(&all, fault) }
    // The new thread inherits the mask.
    pthread_sigmask(SIG_BLOCK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    try Kernel.outside { try thread.start() }
  }
}
