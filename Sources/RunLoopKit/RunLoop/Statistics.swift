internal import Synchronization

extension RunLoop {
  /// What a loop has done since `collectStatistics()`; all 0 without. Its numbers count on from 0 again after `.max`.
  /// - Thread: Any: a value.
  public struct Statistics: Hashable, Sendable, CustomStringConvertible {
    /// Runs begun, nested ones included.
    public var runs: UInt64 = 0
    /// Passes begun.
    public var passes: UInt64 = 0
    /// How often the loop has slept, and was woken: by an event, a wake, or a limit.
    public var sleeps: UInt64 = 0
    /// Of these, how often nothing was there to serve, so that it went on sleeping without a pass.
    public var spuriousWakes: UInt64 = 0
    /// Timers called.
    public var timersFired: UInt64 = 0
    /// Wakes that tolerances have saved: dates of tolerant timers that fired at another date's expiry.
    public var wakesSaved: UInt64 = 0
    /// Signalled sources called.
    public var sourcesPerformed: UInt64 = 0
    /// Port sources and descriptor sources called.
    public var portCallouts: UInt64 = 0
    /// Turns of the main dispatch queue.
    public var mainQueueTurns: UInt64 = 0
    /// Blocks called.
    public var blocksPerformed: UInt64 = 0
    /// In runs, sleep included; of a run that goes on, up to now.
    public var runTime: Duration = .zero
    /// Asleep.
    public var sleepTime: Duration = .zero

    /// All 0.
    public init() {}

    /// In runs, and not asleep.
    public var busyTime: Duration { runTime - sleepTime }

    /// What has happened between two readings: `loop.statistics - before`.
    public static func - (a: Statistics, b: Statistics) -> Statistics {
      var difference = a
      difference.runs &-= b.runs
      difference.passes &-= b.passes
      difference.sleeps &-= b.sleeps
      difference.spuriousWakes &-= b.spuriousWakes
      difference.timersFired &-= b.timersFired
      difference.wakesSaved &-= b.wakesSaved
      difference.sourcesPerformed &-= b.sourcesPerformed
      difference.portCallouts &-= b.portCallouts
      difference.mainQueueTurns &-= b.mainQueueTurns
      difference.blocksPerformed &-= b.blocksPerformed
      difference.runTime -= b.runTime
      difference.sleepTime -= b.sleepTime
      return difference
    }

    /// All of it in a line.
    public var description: String {
      "runs \(runs), passes \(passes), sleeps \(sleeps) (\(spuriousWakes) spurious), timers \(timersFired) "
        + "(\(wakesSaved) wakes saved), sources \(sourcesPerformed), ports \(portCallouts), "
        + "main queue \(mainQueueTurns), blocks \(blocksPerformed), run time \(runTime), of it asleep \(sleepTime)"
    }
  }

  /// Makes the loop count what it does, from its next step to its end. A loop that does not pays a load for it; one
  /// that does, some stores and two readings of the clock a sleep.
  ///
  /// - Thread: Any. A second call does nothing.
  public func collectStatistics() {
    guard isUsable else { return }
    lock.withLock {
      guard !hasEnded else { return }
      activeCounters.store(UInt(bitPattern: state.makeExtras().collectStatistics(kernel)), ordering: .releasing)
    }
  }

  /// What the loop has done since `collectStatistics()` or the last `takeStatistics()`. Each number is true at a moment
  /// of the reading; they are not all of the same.
  ///
  /// - Thread: Any; the loop does not wait for it.
  public var statistics: Statistics {
    guard isUsable else { return Statistics() }
    return lock.withLock { state.extras?.statistics(kernel) ?? Statistics() }
  }

  /// The same, and counts from 0 from now on. Two threads that take share what there is: nothing is told twice or lost.
  public func takeStatistics() -> Statistics {
    guard isUsable else { return Statistics() }
    return lock.withLock { state.extras?.takeStatistics(kernel) ?? Statistics() }
  }

  /// Nil while nothing is to be counted or timed. [loop]
  @inline(__always)
  var counters: UnsafeMutablePointer<Counters>? {
    UnsafeMutablePointer(bitPattern: activeCounters.load(ordering: .acquiring))
  }

  @inline(__always)
  func count(_ counter: Counters.Counter) {
    if let counters { counters.pointee.add(1, to: counter) }
  }
}

extension RunLoop.Statistics {
  init(_ counters: borrowing Counters, _ kernel: Kernel?) {
    self.init()
    runs = counters[.runs]
    passes = counters[.passes]
    sleeps = counters[.sleeps]
    spuriousWakes = counters[.spuriousWakes]
    timersFired = counters[.timersFired]
    wakesSaved = counters[.wakesSaved]
    sourcesPerformed = counters[.sourcesPerformed]
    portCallouts = counters[.portCallouts]
    mainQueueTurns = counters[.mainQueueTurns]
    blocksPerformed = counters[.blocksPerformed]
    let times = counters.times(kernel)
    runTime = Duration(nanoseconds: times.run)
    sleepTime = Duration(nanoseconds: times.sleep)
  }

  static func + (a: Self, b: Self) -> Self { a - (Self() - b) }
}
