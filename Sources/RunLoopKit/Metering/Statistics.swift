extension RunLoop {
  /// What a loop has done while `collectsStatistics` was true.
  public struct Statistics: Hashable, Sendable, CustomStringConvertible {
    private static let zeros = [Int](repeating: 0, count: Counters.Counter.count)
    /// The figures, in the order of `Counters.Counter`.
    private var figures = Statistics.zeros

    /// Runs begun, nested ones included.
    public var runs: Int { self[.runs] }
    /// Passes begun.
    public var passes: Int { self[.passes] }
    /// How often the loop has slept and was woken by an event, a wake or a time limit.
    public var sleeps: Int { self[.sleeps] }
    /// How many sleeps ended with nothing to serve, so that the loop slept again without a pass.
    public var spuriousWakes: Int { self[.spuriousWakes] }
    /// Timers called.
    public var timersFired: Int { self[.timersFired] }
    /// Wakes that tolerances have saved: dates of tolerant timers that needed no wake, because another date caused one.
    public var wakesSaved: Int { self[.wakesSaved] }
    /// Signalled sources called.
    public var sourcesPerformed: Int { self[.sourcesPerformed] }
    /// Port sources, descriptor sources, event sources, ports, and connections between processes called.
    public var portCallouts: Int { self[.portCallouts] }
    /// Turns of the main dispatch queue.
    public var mainQueueTurns: Int { self[.mainQueueTurns] }
    /// Blocks called.
    public var blocksPerformed: Int { self[.blocksPerformed] }
    /// The time in runs, sleeps included, from the first pass of an outermost run on. A run that has not returned
    /// counts until now.
    public var runTime: Duration { .nanoseconds(self[.runTime]) }
    /// The time asleep in runs.
    public var sleepTime: Duration { .nanoseconds(self[.sleepTime]) }

    package init() {}

    init(_ counters: borrowing Counters, _ kernel: Kernel?) { figures = counters.figures(kernel) }

    private subscript(counter: Counters.Counter) -> Int { figures[counter.rawValue] }

    /// The time in runs without the time asleep.
    public var busyTime: Duration { runTime - sleepTime }

    /// The difference of two readings: `loop.statistics - before`.
    public static func - (a: Statistics, b: Statistics) -> Statistics {
      combined(a, b, &-)
    }

    static func + (a: Statistics, b: Statistics) -> Statistics { combined(a, b, &+) }

    private static func combined(_ a: Statistics, _ b: Statistics, _ operation: (Int, Int) -> Int) -> Statistics {
      var combined = Statistics()
      combined.figures = zip(a.figures, b.figures).map(operation)
      return combined
    }

    /// All figures in one line.
    public var description: String {
      "runs \(runs), passes \(passes), sleeps \(sleeps) (\(spuriousWakes) spurious), timers \(timersFired) "
        + "(\(wakesSaved) wakes saved), sources \(sourcesPerformed), ports \(portCallouts), "
        + "main queue \(mainQueueTurns), blocks \(blocksPerformed), run time \(runTime), of it asleep \(sleepTime)"
    }
  }

  /// Whether the loop counts what it does. False at first.
  ///
  /// Setting it to true makes the loop count from zero, beginning with its next step. Setting it to false ends the
  /// counting and its cost with the next step [RLK-STAT-2]; `statistics` then keeps the last figures until
  /// `resetStatistics()` or the next start. Setting its present value changes nothing. If the loop does not count, each
  /// step costs one load; if it does, each step costs some stores and each sleep two readings of the clock.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// loop.collectsStatistics = true
  /// try loop.perform { loop.stop() }
  /// try loop.run()
  /// print(loop.statistics.runs, loop.statistics.blocksPerformed)  // prints 1 1
  /// ```
  /// - Thread: Any. On a loop that has ended it is false, and setting it does nothing. - Blocks: No. - Throws: Nothing.
  public var collectsStatistics: Bool {
    get { isUsable && lock.withLock { state.extras?.isCollecting ?? false } }
    set {
      guard isUsable else { return }
      lock.withLock {
        guard !hasEnded, newValue != (state.extras?.isCollecting ?? false) else { return }
        let extras = state.makeExtras()
        if newValue {
          if !isCounting { extras.makeCounters().pointee.restart() }
          extras.beginCollecting(kernel)
        } else {
          extras.endCollecting(kernel)
        }
        settleCounters(extras)
      }
    }
  }

  /// What the loop has done since `collectsStatistics` became true or `resetStatistics()` was last called. If the loop
  /// does not count, these are the figures of the moment when it stopped counting or when its thread ended
  /// [RLK-STAT-3]. The loop may count during the reading, so the figures may not be of one moment.
  ///
  /// - Thread: Any; the loop does not wait for the reader.
  public var statistics: Statistics {
    guard isInThisProcess else { return Statistics() }
    return lock.withLock { state.extras?.statistics(kernel) ?? Statistics() }
  }

  /// Sets the statistics to zero.
  ///
  /// - Returns: The figures before the reset. If two threads reset at the same time, each count is in one of the two
  ///   results.
  /// - Thread: Any; the loop does not wait for the caller.
  @discardableResult
  public func resetStatistics() -> Statistics {
    guard isInThisProcess else { return Statistics() }
    return lock.withLock { state.extras?.resetStatistics(kernel) ?? Statistics() }
  }
}
