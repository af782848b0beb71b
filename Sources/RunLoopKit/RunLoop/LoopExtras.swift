/// The state of a loop that few loops have. Guarded by the loop's lock.
final class LoopExtras {
  private var idleWork: [RunLoop.Mode: IdleWork] = [:]
  /// Of timers that are added without one, in nanoseconds.
  var defaultTolerance: UInt64 = 0
  /// Kept once made: the loop's thread is counting.
  private var counters: UnsafeMutablePointer<Counters>?
  /// Counters are also made for callouts that are timed.
  private var isCollecting = false
  var slowCalloutReporter: (@Sendable (RunLoop.SlowCallout) -> Void)?
  /// What `takeStatistics` has told so far, or was counted before it was asked for.
  private var taken = RunLoop.Statistics()

  deinit { counters?.destroy() }

  func idleWork(for mode: RunLoop.Mode) -> IdleWork {
    // Its observer is among the mode's items: anybody may have invalidated it.
    if let work = idleWork[mode], work.observer.isValid { return work }
    let work = IdleWork(queue: idleWork[mode]?.queue ?? IdleQueue())
    idleWork[mode] = work
    return work
  }

  /// The loop has ended, and nobody else finds this any more: what was not run is released. [loop]
  func endIdleWork() { for work in idleWork.values { work.queue.close() } }

  func makeCounters() -> UnsafeMutablePointer<Counters> {
    if let counters { return counters }
    let made = UnsafeMutablePointer.make(Counters())
    counters = made
    return made
  }

  func collectStatistics(_ kernel: Kernel?) -> UnsafeMutablePointer<Counters> {
    let counters = makeCounters()
    if !isCollecting {
      isCollecting = true
      taken = RunLoop.Statistics(counters.pointee, kernel)
    }
    return counters
  }

  func statistics(_ kernel: Kernel?) -> RunLoop.Statistics {
    guard let counters, isCollecting else { return RunLoop.Statistics() }
    return RunLoop.Statistics(counters.pointee, kernel) - taken
  }

  func takeStatistics(_ kernel: Kernel?) -> RunLoop.Statistics {
    let statistics = statistics(kernel)
    taken = taken + statistics
    return statistics
  }
}
