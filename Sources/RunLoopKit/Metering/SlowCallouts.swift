internal import Synchronization

extension RunLoop {
  /// Makes the loop report callouts that take longer than a limit, from its next callout on. A second call replaces the
  /// limit and the reporter; a callout that runs meanwhile may be reported to either.
  ///
  /// The loop reports callouts of items, blocks and the main dispatch queue, each once, after it has returned; a
  /// callout that never returns is not reported. Only the callout's own time counts: a run that it begins does not, and
  /// the callouts of that run are reported by themselves. A one-shot timer is invalid when it is reported.
  /// - Parameters:
  ///   - limit: On the suspending clock. Zero or less: every callout that the clock has seen.
  ///   - reporter: Called on the loop's thread, without a lock, before the next callout. Callouts of a run that the
  ///     reporter begins are not reported.
  /// - Thread: Any. A loop that has ended, or was inherited through fork(2): nothing.
  /// - Complexity: A callout costs two readings of the clock, and so does a run. A loop that does not report pays a
  ///   load and a comparison.
  /// - SeeAlso: `stopReportingSlowCallouts()`, `statistics`.
  public func reportSlowCallouts(
    longerThan limit: Duration, to reporter: @escaping @Sendable (SlowCallout) -> Void
  ) {
    setReporter(reporter, limit: limit.nanosecondsRoundedUp)
  }

  /// Stops the reports; a call of the reporter may still run. Thread: any.
  public func stopReportingSlowCallouts() { setReporter(nil, limit: Time.forever) }

  private func setReporter(_ reporter: (@Sendable (SlowCallout) -> Void)?, limit: UInt64) {
    guard isUsable else { return }
    let previous = lock.withLock {
      guard !hasEnded, reporter != nil || state.extras?.slowCalloutReporter != nil else { return reporter }
      let extras = state.makeExtras()
      let counters = extras.makeCounters()
      counters.pointee.slowLimit.store(limit, ordering: .relaxed)
      if !isCounting { counters.pointee.restart() }
      let previous = extras.slowCalloutReporter
      extras.slowCalloutReporter = reporter
      settleCounters(extras)
      return previous
    }
    withExtendedLifetime(previous) {}  // its release may be user code: not under the lock
  }
}

extension CalloutTiming {
  /// A callout of the loop has taken so much. [loop]
  static func report(
    _ taken: UInt64, _ item: RunLoop.Item?, _ kind: RunLoop.SlowCallout.Kind, _ mode: ModePointer?, on loop: RunLoop
  ) {
    guard !loop.owner.times.isReporting else { return }
    let (reporter, mode) = loop.lock.withLock {
      (loop.state.extras?.slowCalloutReporter, (mode ?? loop.state.currentMode)?.name)
    }
    guard let reporter else { return }
    loop.owner.times.isReporting = true
    let timing = CalloutTiming(on: loop)  // of whose time it is no part
    let name = item.map { $0.label ?? $0.description } ?? (kind == .mainQueue ? "main queue" : "block")
    let slow = RunLoop.SlowCallout(
      kind: kind, name: name, mode: mode ?? .default, duration: Duration(nanoseconds: taken))
    __RUNLOOPKIT_IS_REPORTING_A_SLOW_CALLOUT__(reporter, slow)
    timing.end(on: loop)
    loop.owner.times.isReporting = false
  }
}
