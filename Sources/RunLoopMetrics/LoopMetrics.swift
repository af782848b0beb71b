#if Metrics
  internal import CoreMetrics
  internal import RunLoopKit

  /// The metrics of one loop. This object destroys them when it is deinitialized.
  final class LoopMetrics: Sendable {
    private typealias Figure = @Sendable (RunLoop.Statistics) -> Int

    private static let figures: [(name: String, figure: Figure)] = [
      ("runs", { $0.runs }),
      ("passes", { $0.passes }),
      ("sleeps", { $0.sleeps }),
      ("spurious_wakes", { $0.spuriousWakes }),
      ("timers_fired", { $0.timersFired }),
      ("wakes_saved", { $0.wakesSaved }),
      ("sources_performed", { $0.sourcesPerformed }),
      ("port_callouts", { $0.portCallouts }),
      ("main_queue_turns", { $0.mainQueueTurns }),
      ("blocks_performed", { $0.blocksPerformed }),
      ("busy_nanoseconds", { Int($0.busyTime / .nanoseconds(1)) }),
      ("sleep_nanoseconds", { Int($0.sleepTime / .nanoseconds(1)) }),
    ]

    private let counters: [(counter: Counter, figure: Figure)]
    private let busyRatio: Gauge

    init(_ prefix: String, _ dimensions: [(String, String)], _ factory: any MetricsFactory) {
      counters = Self.figures.map { name, figure in
        (Counter(label: "\(prefix)_\(name)", dimensions: dimensions, factory: factory), figure)
      }
      busyRatio = Gauge(label: "\(prefix)_busy_ratio", dimensions: dimensions, factory: factory)
    }

    deinit {
      for (counter, _) in counters { counter.destroy() }
      busyRatio.destroy()
    }

    func add(_ done: RunLoop.Statistics) {
      for (counter, figure) in counters { counter.increment(by: figure(done)) }
      if done.runTime > .zero { busyRatio.record(done.busyTime / done.runTime) }
    }
  }
#endif
