/// The state of a loop that few loops have. Guarded by the loop's lock.
final class LoopExtras {
  private var idleWork: [RunLoop.Mode: IdleWork] = [:]
  /// Of timers that are added without one, in nanoseconds.
  var defaultTolerance: UInt64 = 0
  /// Kept once made: the loop's thread is counting.
  private var counters: UnsafeMutablePointer<Counters>?
  /// Counters are also made for callouts that are timed.
  private(set) var isCollecting = false
  var slowCalloutReporter: (@Sendable (RunLoop.SlowCallout) -> Void)?
  /// What `resetStatistics` has answered so far, or was counted before the collection began.
  private var taken = RunLoop.Statistics()
  /// What was collected when the collection ended.
  private var kept = RunLoop.Statistics()

  /// Of the first `modesByName.count` modes of the loop.
  private var modesByName: [RunLoop.Mode: ModePointer] = [:]

  deinit { counters?.destroy() }

  /// For a loop of many modes, whose names differ and which stay.
  func mode(_ name: RunLoop.Mode, among modes: ContiguousArray<ModePointer>) -> ModePointer? {
    for mode in modes[modesByName.count...] { modesByName[mode.name] = mode }
    return modesByName[name]
  }

  func idleWork(for mode: RunLoop.Mode) -> IdleWork {
    // Its observer is among the mode's items: anybody may have invalidated it.
    if let work = idleWork[mode], work.observer.isValid { return work }
    let work = IdleWork(queue: idleWork[mode]?.queue ?? IdleQueue())
    idleWork[mode] = work
    return work
  }

  /// The run that lay there was left. [loop]
  func idleBlocksAreLeft(in run: UInt) { for work in idleWork.values { work.queue.isLeft(run) } }

  /// The loop has ended, and no other thread can reach this any more: blocks that have not run are released. [loop]
  func endIdleWork() {
    for (_, work) in idleWork.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { work.queue.close() }
  }

  func makeCounters() -> UnsafeMutablePointer<Counters> {
    if let counters { return counters }
    let made = UnsafeMutablePointer.make(Counters())
    counters = made
    return made
  }

  /// The statistics are collected, or slow callouts reported.
  var isCounting: Bool { isCollecting || slowCalloutReporter != nil }

  /// Before the owner counts for it.
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

  /// What was counted, and nothing else; nil if nothing was.
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
