internal import Synchronization

/// The counters of a loop. Its owner, the loop's thread, changes them, and any thread may read them. They need no lock:
/// each count is one word, and a reader reads the times again if the owner has changed them meanwhile.
struct Counters: ~Copyable {
  /// What is counted. The raw value is the index in `words`.
  enum Counter: Int, CaseIterable {
    case runs, passes, sleeps, spuriousWakes, timersFired, wakesSaved, sourcesPerformed, portCallouts, mainQueueTurns
    case blocksPerformed
    /// The nanoseconds of the runs and sleeps that are over.
    case runTime, sleepTime

    static let count = allCases.count
  }

  struct Times {
    /// Both in nanoseconds, with the present run and sleep until now.
    let run: UInt64
    let sleep: UInt64
  }

  private let words: UnsafeMutablePointer<Atomic<UInt64>>
  /// Nil unless hints were on when the loop was made. Set before the loop's thread counts.
  var watch: LoopWatch?
  /// Odd while the owner changes the times.
  private let sequence = Atomic<UInt64>(0)
  /// When the first pass of the outermost run began, or when counting began in that run. `forever` outside of runs.
  private let runBegan = Atomic<UInt64>(Time.forever)
  /// The loop reports callouts that take longer than this, in nanoseconds. If it is `forever`, no callout is timed.
  let slowLimit = Atomic<UInt64>(Time.forever)
  /// When the loop fell asleep; `forever` while it does not sleep.
  private let sleepBegan = Atomic<UInt64>(Time.forever)
  /// When the loop last fell asleep in the current pass; `forever` if it has not slept in this pass.
  private let lastSleep = Atomic<UInt64>(Time.forever)
  /// True if counting was off for a while. The stored beginnings of a run and of a sleep are not valid then.
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

  /// What was counted until now, in the order of `Counter`. - Parameter kernel: The loop's.
  func figures(_ kernel: Kernel?) -> [Int] {
    var figures = (0..<Counter.count).map { Int(truncatingIfNeeded: words[$0].load(ordering: .relaxed)) }
    let times = times(kernel)
    figures[Counter.runTime.rawValue] = Int(clamping: times.run)
    figures[Counter.sleepTime.rawValue] = Int(clamping: times.sleep)
    return figures
  }

  /// - Thread: The loop's own.
  func add(_ count: UInt64, to counter: Counter) {
    let word = words + counter.rawValue
    word.pointee.store(word.pointee.load(ordering: .relaxed) &+ count, ordering: .relaxed)
  }

  /// Called when counting begins, on any thread, under the loop's lock, before the owner sees that it has to count.
  func restart() { hasRestarted.store(true, ordering: .releasing) }

  /// - Thread: The loop's own.
  private func forgetInterruption() {
    guard hasRestarted.load(ordering: .relaxed) else { return }
    change {
      hasRestarted.store(false, ordering: .relaxed)
      runBegan.store(Time.forever, ordering: .relaxed)
      sleepBegan.store(Time.forever, ordering: .relaxed)
    }
    lastSleep.store(Time.forever, ordering: .relaxed)
  }

  /// - Thread: The loop's own.
  func passBegins() {
    forgetInterruption()
    add(1, to: .passes)
    lastSleep.store(Time.forever, ordering: .relaxed)
    if runBegan.load(ordering: .relaxed) == Time.forever {
      change { runBegan.store(Kernel.now(), ordering: .relaxed) }
    }
  }

  /// Called when the outermost run ends. - Thread: The loop's own.
  func runEnds() {
    forgetInterruption()
    let began = runBegan.load(ordering: .relaxed)
    guard began != Time.forever else { return }
    change {
      add(Kernel.now() &- began, to: .runTime)
      runBegan.store(Time.forever, ordering: .relaxed)
    }
  }

  /// - Thread: The loop's own.
  func sleepBegins() {
    forgetInterruption()
    let now = Kernel.now()
    change {
      // If counting began in the middle of a pass, the run begins now: there is no sleep without a run.
      if runBegan.load(ordering: .relaxed) == Time.forever { runBegan.store(now, ordering: .relaxed) }
      sleepBegan.store(now, ordering: .relaxed)
      lastSleep.store(now, ordering: .relaxed)
    }
  }

  /// - Thread: The loop's own.
  func sleepEnds() {
    forgetInterruption()
    add(1, to: .sleeps)
    let began = sleepBegan.load(ordering: .relaxed)
    guard began != Time.forever else { return }  // counting began in the middle of the sleep
    change {
      add(Kernel.now() &- began, to: .sleepTime)
      sleepBegan.store(Time.forever, ordering: .relaxed)
    }
  }

  /// - Thread: The loop's own.
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
      let now = kernel.now()  // before the second read of `sequence`, so that reported times never decrease
      atomicMemoryFence(ordering: .acquiring)
      guard before & 1 == 0, sequence.load(ordering: .relaxed) == before else { continue }
      if isOld { return Times(run: run, sleep: sleep) }
      return Times(run: run &+ Self.elapsed(runBegan, now), sleep: sleep &+ Self.elapsed(sleepBegan, now))
    }
  }

  private static func elapsed(_ began: UInt64, _ now: UInt64) -> UInt64 { now < began ? 0 : now - began }
}

// MARK: Counting

extension RunLoop {
  /// True if the loop counts, for its statistics or to time callouts.
  package var isCounting: Bool { activeCounters.load(ordering: .relaxed) != 0 }

  /// Makes the owner count, or stop counting, from its next step on. Under the lock.
  func settleCounters(_ extras: LoopExtras) {
    let counters = extras.isCounting ? extras.makeCounters() : nil
    activeCounters.store(UInt(bitPattern: counters), ordering: .releasing)
  }

  /// Nil while the loop neither counts nor times. - Thread: The loop's own.
  var counters: UnsafeMutablePointer<Counters>? {
    UnsafeMutablePointer(bitPattern: activeCounters.load(ordering: .acquiring))
  }

  func count(_ counter: Counters.Counter) {
    if let counters { counters.pointee.add(1, to: counter) }
  }
}
