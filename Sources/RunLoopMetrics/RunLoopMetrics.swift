#if Metrics
  public import CoreMetrics
  public import RunLoopKit
  internal import Synchronization

  /// The statistics of a loop, as counters and a gauge of swift-metrics.
  ///
  /// <!-- not run: needs swift-metrics; scripts/packages tests the module -->
  /// ```swift
  /// let metrics = RunLoopMetrics(of: loop, dimensions: [("loop", "main")])
  /// try loop.add(metrics.timer(every: .seconds(10)))
  /// ```
  ///
  /// Each export adds to the counters what the loop has done since the last export:
  ///
  /// - counters, by the names of `RunLoop.Statistics`: `run_loop_runs`, `run_loop_passes`, `run_loop_sleeps`,
  ///   `run_loop_spurious_wakes`, `run_loop_timers_fired`, `run_loop_wakes_saved`, `run_loop_sources_performed`,
  ///   `run_loop_port_callouts`, `run_loop_main_queue_turns`, `run_loop_blocks_performed`
  /// - counters of nanoseconds in runs: `run_loop_busy_nanoseconds`, `run_loop_sleep_nanoseconds`
  /// - a gauge: `run_loop_busy_ratio`, the fraction of the time in runs during which the loop was not asleep, from 0 to
  ///   1; an export does not set it if the loop has not run since the last export
  /// - Thread: Any, for all members.
  public final class RunLoopMetrics: Sendable {
    private let loop: RunLoop
    private let metrics: LoopMetrics
    /// The statistics at the last export.
    private let last: Mutex<RunLoop.Statistics>

    /// Makes the loop collect statistics. The first export counts from this call on.
    ///
    /// - Parameters:
    ///   - loop: The loop, which this object retains.
    ///   - prefix: The beginning of each metric's label.
    ///   - dimensions: The dimensions of each metric. To tell loops apart, give each of them a name here.
    ///   - factory: What makes the metrics; nil for the factory that the program has bootstrapped.
    public init(
      of loop: RunLoop, prefix: String = "run_loop", dimensions: [(String, String)] = [],
      factory: (any MetricsFactory)? = nil
    ) {
      loop.collectsStatistics = true
      self.loop = loop
      metrics = LoopMetrics(prefix, dimensions, factory ?? MetricsSystem.factory)
      last = Mutex(loop.statistics)
    }

    /// Adds to the counters what the loop has done since the last export, or since this object was made.
    ///
    /// If two threads call it, each step of the loop is counted once. If the statistics were reset, what the loop did
    /// between the last export and the reset is not counted. After a loop has ended, the call still exports what
    /// the loop did before.
    /// - Re-entry: Allowed from callouts of that loop. - Blocks: No. - Complexity: O(1).
    public func export() {
      let done = last.withLock { last in
        let now = loop.statistics
        defer { last = now }
        return now.hasRestarted(since: last) ? now : now - last
      }
      metrics.add(done)
    }

    /// Makes a timer that exports periodically. Add it to any mode of any loop, the measured loop included.
    ///
    /// The timer does not keep the mode running, and retains this object. Invalidate it to end the exports.
    /// - Parameters:
    ///   - interval: On the suspending clock; more than zero.
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
    /// Whether the statistics were reset since `last`: without a reset no figure decreases. A reset after which every
    /// figure has grown beyond its old value is not noticed, and part of the work is then not counted.
    fileprivate func hasRestarted(since last: Self) -> Bool {
      runs < last.runs || passes < last.passes || sleeps < last.sleeps || runTime < last.runTime
        || timersFired < last.timersFired || sourcesPerformed < last.sourcesPerformed
        || portCallouts < last.portCallouts || blocksPerformed < last.blocksPerformed
        || mainQueueTurns < last.mainQueueTurns || spuriousWakes < last.spuriousWakes || wakesSaved < last.wakesSaved
        || sleepTime < last.sleepTime || busyTime < last.busyTime
    }
  }
#else
  public import RunLoopKit

  /// Unavailable without the trait `Metrics` of the package.
  @available(*, unavailable, message: "RunLoopMetrics needs the trait Metrics: .package(…, traits: [\"Metrics\"])")
  public struct RunLoopMetrics {
    /// Unavailable like the type. Without this initializer the compiler would only report that there is none.
    @available(*, unavailable, message: "RunLoopMetrics needs the trait Metrics: .package(…, traits: [\"Metrics\"])")
    public init(
      of loop: RunLoop, prefix: String = "run_loop", dimensions: [(String, String)] = [], factory: Any? = nil
    ) {}
  }
#endif
