import CTestSupport
import Dispatch
import RunLoopKit
import RunLoopTestSupport
import XCTest

import class RunLoopKit.RunLoop

/// How the main loop hears of the main dispatch queue: by the edge of its handle, once it has been quiet for a while.
/// Test cases of XCTest run on the main thread.
final class MainQueueTests: XCTestCase {
  private let loop = RunLoop.main

  override func tearDown() { loop.servesMainQueue = true }

  private func runChain(_ passes: Int, _ body: @escaping @Sendable (Int) -> Void = { _ in }) throws {
    try Chain.run(passes, in: .default, body)
  }

  private func drainQueue() throws {
    while try loop.run(in: .default, for: .zero, returnAfterSourceHandled: true) == .handledSource {}
  }

  func test_RLK_MAIN_7_aQuietQueueCostsAPassNothing() throws {
    CountingKernel.install()
    defer { Kernel.leave() }
    try drainQueue()
    let counts = try CountingKernel.count { try runChain(1000) }
    XCTAssertLessThan(counts.reads, 50)
  }

  func testASlowTurnOfTheQueueIsReported() throws {
    try drainQueue()
    let told = Box<[RunLoop.SlowCallout]>([])
    loop.reportSlowCallouts(longerThan: .zero) { slow in told.update { $0.append(slow) } }
    defer { loop.stopReportingSlowCallouts() }
    DispatchQueue.main.async {
      let began = RunLoop.Instant.now
      while RunLoop.Instant.now == began {}
    }
    try drainQueue()
    let turns = told.value.filter { $0.kind == .mainQueue }
    XCTAssertEqual(turns.map(\.name), ["main queue"])
    XCTAssertEqual(turns.map(\.mode), [.default])
  }

  /// A host's loop ran inside of a function of the queue, and has left its wait open.
  func test_RLK_HOST_27_aFunctionOfTheMainQueueEndsItsWait() throws {
    try drainQueue()
    let states = Box<[Bool]>([])
    DispatchQueue.main.async { [loop] in
      while (try? loop.prepareToWait()) == true { _ = try? loop.runPendingWork() }
      states.update { $0.append(loop.isWaiting) }
      try? loop.enqueue { states.update { $0.append(loop.isWaiting) } }  // in the last step of the pass
    }
    while states.value.count < 2 { _ = try loop.run(for: .seconds(30), returnAfterSourceHandled: true) }
    XCTAssertEqual(states.value, [true, false])
    XCTAssertNil(loop.currentMode)
  }

  func test_RLK_MAIN_8_blocksThatQueueBlocksDoNotHoldItBack() throws {
    let limit = 128  // two blocks a pass
    for sentIn in 400..<530 {
      let (servedAfter, ran) = (Box(0), Box(0))
      try runChain(700) { number in
        ran.value = number
        if number == sentIn { DispatchQueue.main.async { servedAfter.value = ran.value } }
      }
      XCTAssertTrue((sentIn...sentIn + limit).contains(servedAfter.value), "sent in \(sentIn): \(servedAfter.value)")
    }
  }

  func test_RLK_MAIN_8_norDoEventsThatAWaitHasFetchedTogether() throws {
    let log = Box<[Int]>([])
    let counters = (0..<300).map { _ in EventCounter() }
    @Sendable func note(_ number: Int) {
      log.update { $0.append(number) }
      if log.value.count > 300 { RunLoop.main.stop() }
    }
    let sources = try counters.indices.map { index in
      try PortSourceFactory.make(counters[index]) {
        note(index)
        if index == 100 { DispatchQueue.main.async { note(-1) } }
      }
    }
    for source in sources { try loop.add(source) }
    defer { for source in sources { source.invalidate() } }
    try drainQueue()
    try runChain(100)
    for counter in counters { counter.add() }
    try withExtendedLifetime(counters) { XCTAssertEqual(try loop.run(for: .seconds(60)), .stopped) }
    XCTAssertEqual(log.value.filter { $0 >= 0 }, Array(0..<300))
    let turn = try XCTUnwrap(log.value.firstIndex(of: -1))
    XCTAssertTrue((101...166).contains(turn), "\(turn)")
  }

  /// How many of the turns it takes until a function is called that was sent before the first one.
  private func turnsUntilServed(_ turn: () throws -> Void) throws -> Int {
    let (served, counter) = (Box(false), EventCounter())
    let busy = try RunLoop.FileDescriptorSource(fileDescriptor: counter.descriptor, interest: .readable) { _, _ in }
    try drainQueue()
    try loop.add(busy)
    defer { withExtendedLifetime(counter) { busy.invalidate() } }
    counter.add()
    DispatchQueue.main.async { served.value = true }
    var turns = 0
    while !served.value, turns < 1000 {
      try turn()
      turns += 1
    }
    return turns
  }

  func test_RLK_MAIN_11_runsThatEndWithAnEventOfOthersDoNotHoldItBack() throws {
    let (polls, single, hosted) = try (
      turnsUntilServed { try loop.run(for: .zero) },
      turnsUntilServed { try loop.run(returnAfterSourceHandled: true) },
      turnsUntilServed {
        _ = try loop.prepareToWait()
        try loop.runPendingWork()
      }
    )
    for turns in [polls, single, hosted] { XCTAssertTrue((2...67).contains(turns), "\(turns)") }
  }

  /// Rule 7, g: what the queue has got before a wait is served instead of it, also if the queue has been quiet.
  func testAnObserverOfEitherSideOfAWaitHearsOfNoneBeforeTheQueue() throws {
    for side in [RunLoop.Activity.beforeWaiting, .afterWaiting] {
      let log = Box<[String]>([])
      try drainQueue()
      try runChain(100)
      let observer = RunLoop.Observer(side) { _, _ in log.update { $0.append("wait") } }
      try loop.add(observer)
      defer { observer.invalidate() }
      try loop.add(
        RunLoop.Timer(fireDate: .now) { [loop] _ in
          log.update { $0.append("timer") }
          DispatchQueue.main.async {
            log.update { $0.append("queue") }
            loop.stop()
          }
        })
      XCTAssertEqual(try loop.run(), .stopped)
      XCTAssertEqual(log.value.drop { $0 != "timer" }, ["timer", "queue"])
    }
  }

  func test_RLK_MAIN_9_aSignalFetchedWithOthersHasItsTurnAfterTheFirst() throws {
    let log = Box<[String]>([])
    let (one, two) = (EventCounter(), EventCounter())
    let first = try PortSourceFactory.make(one) { log.update { $0.append("one") } }
    let second = try PortSourceFactory.make(two) { [loop] in
      log.update { $0.append("two") }
      loop.stop()
    }
    for source in [first, second] { try loop.add(source) }
    defer { for source in [first, second] { source.invalidate() } }
    try drainQueue()
    try runChain(100)
    try loop.add(
      RunLoop.Timer(fireDate: .now) { _ in
        one.add()
        two.add()
        DispatchQueue.main.async { log.update { $0.append("queue") } }
      })
    XCTAssertEqual(try loop.run(), .stopped)
    XCTAssertEqual(log.value, ["one", "queue", "two"])
  }

  /// Signals from both sides, while modes alternate, runs nest, the queue's functions signal it again and a host waits: each
  /// is served by a run of whichever common mode comes next.
  func test_RLK_MAIN_10_noSignalIsLost() throws {
    for seed in 1...20 as ClosedRange<UInt64> {
      var story = EdgeStory(seed: seed)
      for step in 1...40 {
        try story.step()
        guard story.isServed else { return XCTFail("seed \(seed), step \(step): \(story.told)") }
      }
    }
  }
}

/// Passes of the main loop that do nothing but to run a block, which queues the next one.
private enum Chain {
  /// The body is told the number of each block.
  static func run(_ passes: Int, in mode: RunLoop.Mode, _ body: @escaping @Sendable (Int) -> Void) throws {
    let isOver = Box(false)
    try queue(1, of: passes, in: mode) { number in
      body(number)
      // Its last block may run in a run inside of this one.
      if number == passes { isOver.value = true }
    }
    XCTAssertEqual(try RunLoop.main.run(until: isOver.value, in: mode, timeout: .seconds(60)), .met)
  }

  private static func queue(
    _ number: Int, of passes: Int, in mode: RunLoop.Mode, _ body: @escaping @Sendable (Int) -> Void
  ) throws {
    try RunLoop.main.enqueue(in: mode) {
      body(number)
      if number < passes { try? queue(number + 1, of: passes, in: mode, body) }
    }
  }
}

/// Random steps, after each of which the queue has to be empty.
private struct EdgeStory {
  private let loop = RunLoop.main
  private static let other: RunLoop.Mode = "common too"
  private static let aside: RunLoop.Mode = "not common"
  private var random: SplitMix
  private let sent = Box(0)
  private let served = Box(0)
  private(set) var told: [String] = []

  init(seed: UInt64) {
    random = SplitMix(seed)
    loop.addCommonMode(Self.other)
  }

  var isServed: Bool { served.value == sent.value }

  mutating func step() throws {
    told = []
    for _ in 0..<random.below(4) { try prepare() }
    try finish()
  }

  private mutating func tell(_ what: String) { told.append(what) }

  private mutating func commonMode() -> RunLoop.Mode { [.default, .tracking, Self.other][random.below(3)] }

  private mutating func prepare() throws {
    switch random.below(6) {
    case 0:
      tell("quiet")
      try busyRun(passes: 40 + random.below(100), in: commonMode()) {}
    case 1:
      tell("sent in a block")
      try busyRun(passes: 1 + random.below(40), in: commonMode(), atEnd(send: 1 + random.below(2)))
    case 2:
      tell("a run elsewhere")
      let sending = atEnd(send: 1)
      try busyRun(passes: 1 + random.below(3), in: commonMode()) { [loop] in
        sending()
        try? loop.enqueue(in: Self.aside) { loop.stop() }
        _ = try? loop.run(in: Self.aside, for: .seconds(60))
      }
    case 3:
      tell("a run in the queue's function")
      let inner = commonMode()
      let send = atEnd(send: 1)
      sent.value += 1
      DispatchQueue.main.async { [loop, served] in
        MainActor.assumeIsolated {
          send()
          _ = try? loop.run(in: inner, for: .zero)
        }
        served.value += 1
      }
    case 4:
      tell("a run without the queue")
      loop.servesMainQueue = false
      try busyRun(passes: 1 + random.below(100), in: commonMode(), atEnd(send: 1))
      loop.servesMainQueue = true
    default:
      tell("sent by a thread")
      let send = atEnd(send: 1)
      TestThread { send() }.join()
    }
  }

  private func busyRun(passes: Int, in mode: RunLoop.Mode, _ last: @escaping @Sendable () -> Void) throws {
    try Chain.run(passes, in: mode) { number in if number == passes { last() } }
  }

  private func atEnd(send count: Int) -> @Sendable () -> Void {
    { [sent, served] in
      for _ in 0..<count {
        sent.value += 1
        DispatchQueue.main.async { served.value += 1 }
      }
    }
  }

  private mutating func finish() throws {
    let mode = commonMode()
    if random.isOne(in: 3) {
      tell("hosted")
      try host(in: mode)
    } else {
      tell("run")
      while !isServed, try loop.run(in: mode, for: .seconds(5), returnAfterSourceHandled: true) == .handledSource {}
    }
  }

  private func host(in mode: RunLoop.Mode) throws {
    let descriptor = try loop.hostDescriptor(in: mode).fileDescriptor
    while !isServed {
      if try !loop.prepareToWait(in: mode) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 5000) == 1 else { return }
      }
      try loop.runPendingWork(in: mode)
    }
  }
}
