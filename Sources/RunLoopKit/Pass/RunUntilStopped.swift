extension RunLoop {
  /// Runs a mode until `stop()` is called, also while the mode is empty [RLK-RESIDENT-15].
  ///
  /// The call adds an item of its own to the mode for as long as it runs, so that nothing else has to keep the run
  /// going. If such runs are nested, each `stop()` ends the innermost one. As for every run, a `stop()` before the run
  /// has begun stops nothing. To end a thread in whatever run it is, use `RunLoop.Thread`.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// try loop.perform(after: .milliseconds(10)) { loop.stop() }
  /// print(try loop.runUntilStopped())  // prints stopped
  /// ```
  /// - Returns: `.stopped`.
  /// - Thread: The loop's own.
  /// - Throws: As `run(in:for:returnAfterSourceHandled:)`; `.commonModeNotRunnable` for `.common` [RLK-DIAG-5].
  @available(*, noasync, message: "it blocks: call it, or run { await ... }, in a main without a top-level await")
  @discardableResult
  public func runUntilStopped(in mode: Mode = .default) throws -> RunResult {
    try checkOwner("runUntilStopped(in:)")
    guard mode != .common else { throw RunLoopError.commonModeNotRunnable(call: "runUntilStopped(in:)") }
    let awaited = AwaitedStop()
    try add(awaited.source, to: mode)
    defer { awaited.source.invalidate() }
    return try run(in: mode, limit: RunLimit(nil), false, awaiting: awaited)
  }
}

/// Awaits nothing but a stop. Its source keeps the mode from being empty. If the run was left, `isLeft` removes the
/// source.
final class AwaitedStop: AwaitedEnd {
  let source = RunLoop.Source { _ in }

  override func isLeft() { source.invalidate() }
}
