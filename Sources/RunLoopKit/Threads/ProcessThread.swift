internal import RunLoopLibc

extension RunLoop.Thread {
  /// As `start`, for a thread that serves the whole process, whichever thread needs it first: it has the system's
  /// kernel and blocks all signals except those that report a fault in the thread.
  package func startForProcess() throws {
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT] { sigdelset(&all, fault) }
    // The new thread inherits the mask.
    pthread_sigmask(SIG_BLOCK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    try Kernel.outside { try start() }
  }
}
