internal import RunLoopLibc

/// A thread of the library's own that serves the whole process, whichever thread needs it first: started for that, then
/// kept, and started anew after its end: its loop can lose its descriptors, and user code on it can end it.
///
/// A process has one for connections and one for the jobs of loops that have ended. One for both would not do: a job is
/// user code, which may block its thread, or end it. The answers that tasks await from connections come meanwhile.
package final class ServiceThread: ProcessWideObject, @unchecked Sendable {
  package struct Running {
    package let thread: RunLoop.Thread
    package let loop: RunLoop
  }

  /// One thread is started at a time: the process may have room for one more, and for no further one.
  private let starting = Lock()
  /// Also of what its owner keeps beside it.
  package let lock = Lock()
  package var forkGeneration: UInt32 { lock.forkGeneration }
  private let name: String
  /// Guarded by `lock`.
  package private(set) var latest: Running?

  package init(_ name: String) { self.name = name }

  /// Nil if none runs.
  package var current: Running? { lock.withLock { runs ? latest : nil } }

  /// Under the lock.
  private var runs: Bool { latest?.thread.isRunning == true }

  /// The one that runs, started if there is none. Throws if the system has no thread for it, or no descriptors for its
  /// loop.
  /// - Parameter setUp: Called on a thread that is started, first of all; it must not call this function.
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
    withExtendedLifetime(old) {}  // the one before is released without the lock
    return started
  }

  /// It takes no work any more, though it may run still. Under the lock.
  package func forget(_ old: RunLoop.Thread) { if latest?.thread === old { latest = nil } }

  /// It has the system's kernel and blocks all signals except those that report a fault in the thread.
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
