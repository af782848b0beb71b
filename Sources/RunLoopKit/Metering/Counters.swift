internal import Synchronization

/// The statistics of a loop, which its thread changes and any thread may read. Without locks: each count is one word,
/// and a reader reads the times again if the owner has changed them meanwhile.
struct Counters: ~Copyable {
  /// What is counted; the raw value is its place.
  enum Counter: Int, CaseIterable {
    case runs, passes, sleeps, spuriousWakes, timersFired, wakesSaved, sourcesPerformed, portCallouts, mainQueueTurns
    case blocksPerformed
    /// In nanoseconds; of what is over.
    case runTime, sleepTime

    static let count = allCases.count
  }

  struct Times {
    /// Up to now, in nanoseconds.
    let run: UInt64
    let sleep: UInt64
  }

  private let words: UnsafeMutablePointer<Atomic<UInt64>>
  /// Odd while the times change.
  private let sequence = Atomic<UInt64>(0)
  /// When the outermost run began, or was first counted; 0 outside of runs.
  private let runBegan = Atomic<UInt64>(0)
  /// Callouts that take longer are reported, in nanoseconds; `forever`: none is timed.
  let slowLimit = Atomic<UInt64>(Time.forever)
  /// 0 while the loop does not sleep.
  private let sleepBegan = Atomic<UInt64>(0)
  /// When it last fell asleep in the pass that runs; never: it has not.
  private let lastSleep = Atomic<UInt64>(Time.forever)
  /// Counting was off for a while: the beginnings of a run and a sleep that were noted before do not count.
  private let hasRestarted = Atomic<Bool>(false)

  init() {
    words = .allocate(capacity: Counter.count)
    for index in 0..<Counter.count { (words + index).initialize(to: Atomic(0)) }
  }

  deinit {
    words.deinitialize(count: Counter.count)
    words.deallocate()
  }

  private subscript(counter: Counter) -> UInt64 { words[counter.rawValue].load(ordering: .relaxed) }

  /// What was counted up to now, by counter. - Parameter kernel: The loop's.
  func figures(_ kernel: Kernel?) -> [Int] {
    var figures = (0..<Counter.count).map { Int(truncatingIfNeeded: words[$0].load(ordering: .relaxed)) }
    let times = times(kernel)
    figures[Counter.runTime.rawValue] = Int(clamping: times.run)
    figures[Counter.sleepTime.rawValue] = Int(clamping: times.sleep)
    return figures
  }

  /// [loop]
  func add(_ count: UInt64, to counter: Counter) {
    let word = words + counter.rawValue
    word.pointee.store(word.pointee.load(ordering: .relaxed) &+ count, ordering: .relaxed)
  }

  /// The counting begins, perhaps again. Any thread, before the owner knows that it counts.
  func restart() { hasRestarted.store(true, ordering: .releasing) }

  /// [loop]
  @inline(__always)
  private func forgetInterruption() {
    guard hasRestarted.load(ordering: .relaxed) else { return }
    change {
      hasRestarted.store(false, ordering: .relaxed)
      runBegan.store(0, ordering: .relaxed)
      sleepBegan.store(0, ordering: .relaxed)
    }
    lastSleep.store(Time.forever, ordering: .relaxed)
  }

  /// [loop]
  func passBegins() {
    forgetInterruption()
    add(1, to: .passes)
    lastSleep.store(Time.forever, ordering: .relaxed)
    if runBegan.load(ordering: .relaxed) == 0 { change { runBegan.store(Kernel.now(), ordering: .relaxed) } }
  }

  /// The outermost one. [loop]
  func runEnds() {
    forgetInterruption()
    let began = runBegan.load(ordering: .relaxed)
    guard began != 0 else { return }
    change {
      add(Kernel.now() &- began, to: .runTime)
      runBegan.store(0, ordering: .relaxed)
    }
  }

  /// [loop]
  func sleepBegins() {
    forgetInterruption()
    let now = Kernel.now()
    change {
      // Counted from the middle of a pass on: no sleep without a run.
      if runBegan.load(ordering: .relaxed) == 0 { runBegan.store(now, ordering: .relaxed) }
      sleepBegan.store(now, ordering: .relaxed)
      lastSleep.store(now, ordering: .relaxed)
    }
  }

  /// [loop]
  func sleepEnds() {
    forgetInterruption()
    add(1, to: .sleeps)
    let began = sleepBegan.load(ordering: .relaxed)
    guard began != 0 else { return }  // counted from the middle of a sleep on
    change {
      add(Kernel.now() &- began, to: .sleepTime)
      sleepBegan.store(0, ordering: .relaxed)
    }
  }

  /// When it last fell asleep in this pass; never: it has not. [loop]
  var lastSleepBegan: UInt64 { lastSleep.load(ordering: .relaxed) }

  private func change(_ body: () -> Void) {
    let before = sequence.load(ordering: .relaxed)
    sequence.store(before &+ 1, ordering: .sequentiallyConsistent)
    atomicMemoryFence(ordering: .releasing)
    body()
    sequence.store(before &+ 2, ordering: .releasing)
  }

  private func times(_ kernel: Kernel?) -> Times {
    while true {
      let before = sequence.load(ordering: .acquiring)
      let (run, sleep) = (self[.runTime], self[.sleepTime])
      let (runBegan, sleepBegan) = (runBegan.load(ordering: .relaxed), sleepBegan.load(ordering: .relaxed))
      let isOld = hasRestarted.load(ordering: .relaxed)
      let now = kernel.now()  // before the second read, so that reported times never decrease
      atomicMemoryFence(ordering: .acquiring)
      guard before & 1 == 0, sequence.load(ordering: .relaxed) == before else { continue }
      if isOld { return Times(run: run, sleep: sleep) }
      return Times(run: run &+ Self.elapsed(runBegan, now), sleep: sleep &+ Self.elapsed(sleepBegan, now))
    }
  }

  private static func elapsed(_ began: UInt64, _ now: UInt64) -> UInt64 { began == 0 || now < began ? 0 : now - began }
}

// MARK: Counting

extension RunLoop {
  /// The loop counts, for its statistics or to time callouts.
  package var isCounting: Bool { activeCounters.load(ordering: .relaxed) != 0 }

  /// Lets the owner count, or not, from its next step on. Under the lock.
  func settleCounters(_ extras: LoopExtras) {
    let counters = extras.isCounting ? extras.makeCounters() : nil
    activeCounters.store(UInt(bitPattern: counters), ordering: .releasing)
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
