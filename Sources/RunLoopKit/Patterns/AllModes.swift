internal import RunLoopLibc

extension RunLoop {
  /// Runs each mode for a slice, one after the other, until `isDone` returns true, so that the members of every mode
  /// are served. Call it in a callout that must not return before something has happened, if you do not know in which
  /// mode that will happen.
  ///
  /// Never call it in a signal handler: the interrupted thread may hold a lock, the loop's or malloc's. Call it in a
  /// signal source instead. On an alternate signal stack the call throws; on the thread's own stack it cannot detect
  /// the handler.
  /// - Parameters:
  ///   - slice: How long each mode may sleep, at most.
  ///   - isDone: Called before each slice.
  /// - Returns: True when `isDone` has returned true. False after a `stop()`, and if no mode has anything to wait for.
  ///   With `servesMainQueue`, the main loop always has something to wait for.
  /// - Thread: The loop's own.
  /// - Re-entry: Allowed. The modes run in the order in which they were made. In a callout these runs are nested: they
  ///   do not call timers and descriptor sources whose callouts are on the stack.
  /// - Throws: As `run(in:for:)`; `.inSignalHandler`.
  @available(*, noasync, message: "it blocks: call it, or run { await ... }, in a main without a top-level await")
  @discardableResult
  public func runAllModes(
    slice: Duration = .milliseconds(1), until isDone: () -> Bool
  ) throws -> Bool {
    try checkOwner("runAllModes(slice:until:)")
    guard !SignalStack.isCurrent else { throw RunLoopError.inSignalHandler(call: "runAllModes(slice:until:)") }
    while true {
      var hasRun = false
      for mode in lock.withLock({ state.modes.map { $0.name } }) where mode != .common {
        if isDone() { return true }
        switch try run(in: mode, limit: RunLimit(slice), false, isOneOfAll: true) {
        case .stopped: return false
        case .finished: break
        case .timedOut, .handledSource: hasRun = true
        }
      }
      if !hasRun { return isDone() }
    }
  }
}

private enum SignalStack {
  /// True if the calling thread runs on its alternate signal stack. One system call.
  static var isCurrent: Bool {
    var stack = stack_t()
    return sigaltstack(nil, &stack) == 0 && stack.ss_flags & Int32(SS_ONSTACK) != 0
  }
}
