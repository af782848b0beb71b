internal import Synchronization

extension RunLoop {
  /// A callout that has taken longer than `reportSlowCallouts(longerThan:to:)` allows.
  public struct SlowCallout: Hashable, Sendable, CustomStringConvertible {
    /// What was called.
    public enum Kind: Hashable, Sendable {
      /// A block, also one for when the loop is idle.
      case block
      /// A signalled source.
      case source
      /// A port, with a message; also a connection between processes, with what it does for itself.
      case port
      /// A port source.
      case portSource
      /// A descriptor source.
      case descriptorSource
      /// A signal source, a child source, a file watch or a memory pressure source.
      case eventSource
      /// A timer; also what delays and patterns do by timers.
      case timer
      /// An observer; also what patterns do by observers.
      case observer
      /// A turn of the main dispatch queue.
      case mainQueue
    }

    /// What was called.
    public let kind: Kind
    /// The item's label, or its description if it has none; "block"; "main queue".
    public let name: String
    /// The mode in which the loop has called it.
    public let mode: Mode
    /// What it has taken itself, waits for other threads and the kernel included; runs that it has begun, and callouts
    /// inside of it, are left out.
    public let duration: Duration

    /// All of it in a line.
    public var description: String { "\(name) took \(duration) in mode \(mode.rawValue)" }
  }
}

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
