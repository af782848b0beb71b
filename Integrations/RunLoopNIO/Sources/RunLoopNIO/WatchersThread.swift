internal import Glibc
internal import RunLoopKit
internal import Synchronization

/// The thread that waits for the descriptors of all hosts of the process. It begins with the first host, and ends with the
/// last.
enum WatchersThread {
  private struct Shared: ~Copyable {
    /// A child of fork(2) has not its parent's.
    var process: pid_t = 0
    weak var thread: RunLoop.Thread?
  }

  private static let shared = Mutex(Shared())

  static func current() throws -> RunLoop.Thread {
    try shared.withLock { shared in
      if let thread = shared.thread, shared.process == getpid() { return thread }
      let thread = RunLoop.Thread(name: "RunLoopNIO")
      try withoutSignals { try thread.start() }
      (shared.process, shared.thread) = (getpid(), thread)
      return thread
    }
  }

  /// A new thread has the mask of its maker: the program's signals are for the program's threads.
  private static func withoutSignals(_ body: () throws -> Void) rethrows {
    var (all, mask) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &mask)
    defer { pthread_sigmask(SIG_SETMASK, &mask, nil) }
    try body()
  }
}
