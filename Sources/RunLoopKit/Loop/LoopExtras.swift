/// State that most loops never need; allocated on first use. Guarded by the loop's lock.
final class LoopExtras {
  private var idleWork: [RunLoop.Mode: IdleWork] = [:]
  /// The tolerance of timers that are added without one, in nanoseconds.
  var defaultTolerance: UInt64 = 0
  /// Once made, the counters stay until `deinit`, because the loop's thread changes them without the lock.
  private var counters: UnsafeMutablePointer<Counters>?
  /// True while statistics are collected. Counters also exist for the timing of callouts.
  private(set) var isCollecting = false
  var slowCalloutReporter: (@Sendable (RunLoop.SlowCallout) -> Void)?
  /// Subtracted from the counters: what was counted before the collection began, and what `resetStatistics` has
  /// returned.
  private var taken = RunLoop.Statistics()
  /// What was collected until the last collection ended.
  private var kept = RunLoop.Statistics()

  /// The first `modesByName.count` modes of the loop, by name.
  private var modesByName: [RunLoop.Mode: ModePointer] = [:]

  deinit { counters?.destroy() }

  /// Finds a mode in a loop of many modes. Modes never vanish, and no two have the same name, so the table only has to
  /// catch up with new modes.
  func mode(_ name: RunLoop.Mode, among modes: ContiguousArray<ModePointer>) -> ModePointer? {
    for mode in modes[modesByName.count...] { modesByName[mode.name] = mode }
    return modesByName[name]
  }

  func idleWork(for mode: RunLoop.Mode) -> IdleWork {
    // `items(in:)` shows the observer to the program, which may have invalidated it.
    if let work = idleWork[mode], work.observer.isValid { return work }
    let work = IdleWork(queue: idleWork[mode]?.queue ?? IdleQueue())
    idleWork[mode] = work
    return work
  }

  /// Notifies the idle queues that an exception or longjmp(3) has left the run at this stack address.
  /// - Thread: The loop's own.
  func idleBlocksAreLeft(in run: UInt) { for work in idleWork.values { work.queue.isLeft(run) } }

  /// Releases idle blocks that have not run. The loop has ended, and no other thread can reach this object any more.
  /// - Thread: The loop's own.
  func endIdleWork() {
    for (_, work) in idleWork.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { work.queue.close() }
  }

  func makeCounters() -> UnsafeMutablePointer<Counters> {
    if let counters { return counters }
    let made = UnsafeMutablePointer.make(Counters())
    counters = made
    return made
  }

  /// True if the loop looks for what it reports as hints (`LoopWatch`); it counts then, too.
  private(set) var isWatching = false

  var isCounting: Bool { isCollecting || slowCalloutReporter != nil || isWatching }

  /// Called when the loop is made, before another thread knows it.
  func beginWatching() {
    isWatching = true
    let counters = makeCounters()
    counters.pointee.watch = LoopWatch()
    counters.pointee.slowLimit.store(LoopWatch.slowLimit, ordering: .relaxed)
  }

  /// Called before `settleCounters` makes the loop's thread count. If callouts are timed, the thread counts already.
  func beginCollecting(_ kernel: Kernel?) {
    isCollecting = true
    taken = RunLoop.Statistics(makeCounters().pointee, kernel)
    kept = RunLoop.Statistics()
  }

  func endCollecting(_ kernel: Kernel?) {
    kept = statistics(kernel)
    isCollecting = false
  }

  func statistics(_ kernel: Kernel?) -> RunLoop.Statistics {
    guard let counters, isCollecting else { return kept }
    return RunLoop.Statistics(counters.pointee, kernel) - taken
  }

  /// An object that holds the statistics and nothing else; nil if nothing was counted.
  func figures(_ kernel: Kernel?) -> LoopExtras? {
    let statistics = statistics(kernel)
    guard statistics != RunLoop.Statistics() else { return nil }
    let figures = LoopExtras()
    figures.kept = statistics
    return figures
  }

  func resetStatistics(_ kernel: Kernel?) -> RunLoop.Statistics {
    let statistics = statistics(kernel)
    if isCollecting { taken = taken + statistics }
    kept = RunLoop.Statistics()
    return statistics
  }
}
