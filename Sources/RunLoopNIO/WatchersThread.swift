#if NIO
  internal import RunLoopKit
  internal import RunLoopLibc
  internal import Synchronization

  /// The thread that waits for the descriptors of all hosts of the process. It starts with the first host and ends with
  /// the last one.
  final class WatchersThread: Sendable {
    private struct Started: ~Copyable {
      weak var thread: RunLoop.Thread?
    }

    private let process = getpid()
    private let started = Mutex(Started())

    private init() {}

    /// One object for each process: a child of fork(2) does not have its parent's thread, and may inherit the lock
    /// while another thread holds it.
    private static let ofProcess = Atomic<Unmanaged<WatchersThread>?>(nil)

    static func current() throws -> RunLoop.Thread {
      while true {
        let seen = ofProcess.load(ordering: .acquiring)
        // The object is never released, so the reference is valid.
        if let own = seen?.takeUnretainedValue(), own.process == getpid() { return try own.start() }
        let made = Unmanaged.passRetained(WatchersThread())
        if !ofProcess.compareExchange(expected: seen, desired: made, ordering: .acquiringAndReleasing).exchanged {
          made.release()
        }
      }
    }

    private func start() throws -> RunLoop.Thread {
      try started.withLock { started in
        if let thread = started.thread, thread.isRunning { return thread }
        let thread = RunLoop.Thread(name: "RunLoopNIO")
        try withoutSignals { try thread.start() }
        started.thread = thread
        return thread
      }
    }

    /// Blocks all signals during `body`: a new thread inherits the mask, and the program's own threads must get the
    /// program's signals.
    private func withoutSignals(_ body: () throws -> Void) rethrows {
      var (all, mask) = (sigset_t(), sigset_t())
      sigfillset(&all)
      pthread_sigmask(SIG_SETMASK, &all, &mask)
      defer { pthread_sigmask(SIG_SETMASK, &mask, nil) }
      try body()
    }
  }
#endif
