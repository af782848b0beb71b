extension RunLoop {
  /// Why a run has ended. The numbers are `CFRunLoopRunResult`'s.
  public enum RunResult: Int32, Sendable {
    /// The mode has nothing to wait for.
    case finished = 1
    case stopped
    case timedOut
    /// A source was performed, and `returnAfterSourceHandled` was true.
    case handledSource
  }
}
