internal import Synchronization

extension RunLoop {
  /// A callout that took longer than the limit of `reportSlowCallouts(longerThan:to:)`.
  public struct SlowCallout: Hashable, Sendable, CustomStringConvertible {
    /// What was called.
    public enum Kind: Hashable, Sendable {
      /// A block, which may be one of `performWhenIdle`.
      case block
      /// A signalled source.
      case source
      /// A port that got a message, or a connection between processes that did work of its own.
      case port
      /// A port source.
      case portSource
      /// A descriptor source.
      case descriptorSource
      /// A signal source, a child source, a file watch or a memory pressure source.
      case eventSource
      /// A timer, or a delayed perform or a pattern that uses one.
      case timer
      /// An observer, or a pattern that uses one.
      case observer
      /// A turn of the main dispatch queue.
      case mainQueue
    }

    /// What was called.
    public let kind: Kind
    /// The label of the item or block. Without a label it is the line that made the item or queued the block, such as
    /// `timer at Server/main.swift:12`, if the function that was called there has parameters `file` and `line`
    /// [RLK-STAT-4]. Otherwise it is the item's description, or "block", or "main queue".
    public let name: String
    /// The mode in which the loop made the callout.
    public let mode: Mode
    /// The callout's own time, including its waits for other threads and for the kernel, but without the runs and
    /// callouts that began inside it.
    public let duration: Duration

    /// Name, duration and mode in one line.
    public var description: String { "\(name) took \(duration) in mode \(mode.rawValue)" }
  }
}

extension RunLoop {
  /// Makes the loop report callouts that take longer than a limit, from its next callout on. A second call replaces the
  /// limit and the reporter. A callout that runs during the call may be reported to either reporter.
  ///
  /// The loop reports callouts of items, blocks and the main dispatch queue, each once, after the callout has returned;
  /// it does not report a callout that never returns. Only the callout's own time counts. A run that the callout begins
  /// does not count, and the loop reports the callouts of that run separately. When the loop reports a one-shot timer,
  /// the timer is invalid already.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// loop.reportSlowCallouts(longerThan: .milliseconds(20)) { slow in
  ///   print(slow.duration >= .milliseconds(20))  // prints true
  /// }
  /// try loop.perform {
  ///   let end = RunLoop.Instant.now.advanced(by: .milliseconds(30))
  ///   while RunLoop.Instant.now < end {}
  ///   loop.stop()
  /// }
  /// try loop.run()
  /// ```
  /// - Parameters:
  ///   - limit: A duration on the suspending clock. If it is zero or less, the loop reports each callout that takes
  ///     measurable time.
  ///   - reporter: Called on the loop's thread, with no lock held, before the next callout. Callouts of a run that the
  ///     reporter begins are not reported.
  /// - Thread: Any. On a loop that has ended, or was inherited through fork(2), the call does nothing.
  /// - Complexity: The loop reads the clock twice more for each callout and each run. While it does not report, each
  ///   costs a load and a comparison.
  /// - SeeAlso: `stopReportingSlowCallouts()`, `statistics`.
  public func reportSlowCallouts(
    longerThan limit: Duration, to reporter: @escaping @Sendable (SlowCallout) -> Void
  ) {
    setReporter(reporter, limit: limit.nanosecondsRoundedUp)
  }

  /// Stops the reports. The reporter may still be running when this call returns. A loop that was made while hints were
  /// on goes on to report callouts of more than a second as hints (`diagnostics`). - Thread: Any.
  public func stopReportingSlowCallouts() { setReporter(nil, limit: Time.forever) }

  private func setReporter(_ reporter: (@Sendable (SlowCallout) -> Void)?, limit: UInt64) {
    guard isUsable else { return }
    let previous = lock.withLock {
      guard !hasEnded, reporter != nil || state.extras?.slowCalloutReporter != nil else { return reporter }
      let extras = state.makeExtras()
      let counters = extras.makeCounters()
      let limit = reporter == nil && extras.isWatching ? LoopWatch.slowLimit : limit
      counters.pointee.slowLimit.store(limit, ordering: .relaxed)
      if !isCounting { counters.pointee.restart() }
      let previous = extras.slowCalloutReporter
      extras.slowCalloutReporter = reporter
      settleCounters(extras)
      return previous
    }
    withExtendedLifetime(previous) {}  // released without the lock, since that may call user code
  }
}
