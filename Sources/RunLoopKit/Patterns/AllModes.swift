internal import RunLoopLibc

extension RunLoop {
  /// Runs each mode for a slice, one after the other, again and again until `isDone` says so: whatever the program
  /// waits for, in whichever mode, goes on. For a callout that must not return before something has happened, in a mode
  /// that it does not know; for example after a failure.
  ///
  /// Never from a signal handler: the thread that it has interrupted may hold a lock, the loop's or malloc's. Have a
  /// signal source call it. On an alternate signal stack the call throws; on the thread's own stack it cannot detect
  /// that.
  /// - Parameters:
  ///   - slice: How long each mode may sleep, at most.
  ///   - isDone: Asked before each slice.
  /// - Returns: True when `isDone` did. False after a `stop()`, and if no mode has anything to wait for (on the main
  ///   loop there always is: `servesMainQueue`).
  /// - Thread: The loop's own.
  /// - Re-entry: Its modes run nested, in the order in which they were made; timers and descriptor sources whose
  ///   callouts are on the stack are not called.
  /// - Throws: As `run(in:for:)`; `.inSignalHandler`.
  @available(*, noasync, message: "it blocks its thread: call it, or run { await ... }, from a synchronous main")
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
  /// The calling thread runs on its alternate signal stack: one system call.
  static var isCurrent: Bool {
    var stack = stack_t()
    return sigaltstack(nil, &stack) == 0 && stack.ss_flags & Int32(SS_ONSTACK) != 0
  }
}
