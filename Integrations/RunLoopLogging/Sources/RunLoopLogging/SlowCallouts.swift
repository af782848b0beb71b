public import Logging
public import RunLoopKit

extension RunLoop {
  /// Logs callouts that take longer than a limit.
  ///
  /// It is the loop's one reporter of slow callouts: it replaces the one that was set before. End it with
  /// `stopReportingSlowCallouts()`.
  /// - Parameters:
  ///   - limit: On the suspending clock, as for `reportSlowCallouts(longerThan:to:)`.
  ///   - logger: Called on the loop's thread, after the callout has ended and before the next one.
  ///   - level: Of each line.
  /// - Thread: Any. A loop that has ended: nothing.
  /// - Complexity: Two readings of the clock for each callout.
  public func logSlowCallouts(longerThan limit: Duration, to logger: Logger, at level: Logger.Level = .warning) {
    reportSlowCallouts(longerThan: limit) { slow in
      logger.log(level: level, "a callout of a run loop is slow", metadata: slow.logMetadata)
    }
  }
}

extension RunLoop.SlowCallout {
  /// The name, the kind, the mode, and the duration in milliseconds.
  public var logMetadata: Logger.Metadata {
    [
      "callout": "\(name)",
      "kind": "\(kind)",
      "mode": "\(mode.rawValue)",
      "milliseconds": "\(duration / .milliseconds(1))",
    ]
  }
}
