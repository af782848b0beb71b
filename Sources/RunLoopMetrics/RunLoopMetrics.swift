#if Metrics
  public import CoreMetrics
  public import RunLoopKit
  internal import Synchronization

  /// What a loop does, as counters and a gauge of swift-metrics.
  ///
  /// ```swift
  /// let metrics = RunLoopMetrics(of: loop, dimensions: [("loop", "main")])
  /// try loop.add(metrics.timer(every: .seconds(10)))
  /// ```
  ///
  /// Each export adds to the counters what the loop has done since the one before:
  ///
  /// - counters, by the names of `RunLoop.Statistics`: `run_loop_runs`, `run_loop_passes`, `run_loop_sleeps`,
  ///   `run_loop_spurious_wakes`, `run_loop_timers_fired`, `run_loop_wakes_saved`, `run_loop_sources_performed`,
  ///   `run_loop_port_callouts`, `run_loop_main_queue_turns`, `run_loop_blocks_performed`
  /// - counters of nanoseconds in runs: `run_loop_busy_nanoseconds`, `run_loop_sleep_nanoseconds`
  /// - a gauge: `run_loop_busy_ratio`, the part of its time in runs, from 0 to 1, that the loop was not asleep;
  ///   unchanged by an export in whose time the loop did not run
  /// - Thread: Any, for all members.
  public final class RunLoopMetrics: Sendable {
    private let loop: RunLoop
    private let metrics: LoopMetrics
    /// What has been exported.
    private let last: Mutex<RunLoop.Statistics>

    /// Lets the loop collect statistics, and counts from now on.
    ///
    /// - Parameters:
    ///   - loop: Retained.
    ///   - prefix: Of each metric's label.
    ///   - dimensions: Of each metric: to tell loops apart, give each of them a name.
    ///   - factory: Nil: the one that the program has bootstrapped.
    public init(
      of loop: RunLoop, prefix: String = "run_loop", dimensions: [(String, String)] = [],
      factory: (any MetricsFactory)? = nil
    ) {
      loop.collectsStatistics = true
      self.loop = loop
      metrics = LoopMetrics(prefix, dimensions, factory ?? MetricsSystem.factory)
      last = Mutex(loop.statistics)
    }

    /// Adds to the counters what the loop has done since the last export, or since it was made.
    ///
    /// If two threads call it, each step of the loop is counted once. Statistics that were reset meanwhile begin again:
    /// what the loop did between the last export and the reset is not counted. What a loop has done before its end can
    /// be exported after it.
    /// - Re-entry: Allowed from callouts of that loop. - Blocks: No. - Complexity: O(1).
    public func export() {
      let done = last.withLock { last in
        let now = loop.statistics
        defer { last = now }
        return now.hasRestarted(since: last) ? now : now - last
      }
      metrics.add(done)
    }

    /// An item that exports again and again; in any mode of any loop, also of this one.
    ///
    /// It does not keep the mode from being empty. Invalidate it to end the exports. It retains this object.
    /// - Parameters:
    ///   - interval: Of the suspending clock; more than zero.
    ///   - tolerance: How late an export may be, to share a wake with other timers.
    public func timer(every interval: Duration, tolerance: Duration = .seconds(1)) -> RunLoop.Timer {
      precondition(interval > .zero, "RunLoopMetrics.timer(every:): an interval is more than zero, not \(interval)")
      let timer = RunLoop.Timer(after: interval, interval: interval, tolerance: tolerance) { _ in self.export() }
      timer.label = "exports metrics"
      timer.keepsRunning = false
      return timer
    }
  }

  extension RunLoop.Statistics {
    /// Somebody has reset them, since no figure ever sinks. A reset after which every figure has already passed what it
    /// was is not seen, and some of what was done is lost.
    fileprivate func hasRestarted(since last: Self) -> Bool {
      runs < last.runs || passes < last.passes || sleeps < last.sleeps || runTime < last.runTime
        || timersFired < last.timersFired || sourcesPerformed < last.sourcesPerformed
        || portCallouts < last.portCallouts || blocksPerformed < last.blocksPerformed
        || mainQueueTurns < last.mainQueueTurns || spuriousWakes < last.spuriousWakes || wakesSaved < last.wakesSaved
        || sleepTime < last.sleepTime || busyTime < last.busyTime
    }
  }
#else
  /// Nothing without the trait `Metrics` of the package.
  @available(*, unavailable, message: "RunLoopMetrics needs the trait Metrics: .package(…, traits: [\"Metrics\"])")
  public enum RunLoopMetrics {}
#endif
