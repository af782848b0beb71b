import CTestSupport
import Glibc
import RunLoopKit
import RunLoopTestSupport
import XCTest

import class RunLoopKit.RunLoop

final class ResidentTests: XCTestCase {
  private typealias Resident = RunLoop.Thread

  func test_RLK_RESIDENT_1_startedItTakesWorkStoppedItRefusesIt() throws {
    let (thread, isSetUp, ran) = (
      Resident(name: "resident", setUp: { XCTAssertTrue($0.isCurrent) }), Box(false), Box(0)
    )
    XCTAssertNil(thread.loop)
    XCTAssertFalse(thread.isRunning)
    XCTAssertEqual(thrown { try thread.perform {} }, .notStarted)
    try thread.start()
    XCTAssertTrue(thread.isRunning)
    for _ in 0..<100 { try thread.perform { ran.value += 1 } }
    XCTAssertEqual(try thread.loop!.performAndWait { thread.loop!.isCurrent }, true)
    thread.stop()
    XCTAssertEqual(thrown { try thread.perform { XCTFail("late work ran") } }, .loopEnded)
    try thread.join()
    XCTAssertEqual(ran.value, 100)
    XCTAssertFalse(thread.isRunning)
    XCTAssertTrue(thread.loop!.hasEnded)
    XCTAssertEqual(thrown { try thread.loop!.perform {} }, .loopEnded)
    XCTAssertFalse(isSetUp.value)
  }

  func test_RLK_RESIDENT_2_afterDueWorkEverythingThatWasReadyHasItsTurn() throws {
    let (isBlocked, mayGoOn, log) = (Gate(), Gate(), Box<[String]>([]))
    let counters = (0..<20).map { _ in EventCounter() }
    defer { withExtendedLifetime(counters) {} }
    let source = RunLoop.Source { _ in log.update { $0.append("source") } }
    let thread = Resident(name: "due") { loop in
      try loop.add(source)
      for counter in counters {
        try loop.add(RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in log.update { $0.append("port") } })
      }
      try loop.add(
        RunLoop.Timer(fireDate: .now.advanced(by: .seconds(3600))) { _ in log.update { $0.append("later") } })
    }
    try thread.start()
    try thread.perform {
      isBlocked.open()
      mayGoOn.wait()
    }
    isBlocked.wait()
    for counter in counters { counter.add() }
    source.signal()
    try thread.loop!.add(RunLoop.Timer(fireDate: .now) { _ in log.update { $0.append("timer") } })
    try thread.perform { log.update { $0.append("block") } }
    thread.stop(.afterDueWork)
    // Not due when it was told, and never the last of its kind: it may run, and does not keep the thread.
    @Sendable func again() { try? RunLoop.current.perform(block: again) }
    try thread.loop!.perform(block: again)
    mayGoOn.open()
    try thread.join()
    for (name, count) in ["source": 1, "port": 20, "timer": 1, "block": 1, "later": 0] {
      XCTAssertEqual(log.value.count { $0 == name }, count, name)
    }
  }

  func test_RLK_RESIDENT_2_afterDueWorkEachMessageThatWaitedIsDelivered() throws {
    let (isBlocked, mayGoOn, ids) = (Gate(), Gate(), Box<[[UInt32]]>([[], []]))
    let ports = (0..<2).map { index in
      RunLoop.Port { _, message in ids.update { $0[index].append(message.id) } }
    }
    let counter = EventCounter()
    defer { withExtendedLifetime(counter) {} }
    let thread = Resident(name: "due") { loop in
      for port in ports { try loop.add(port) }
      try loop.add(PortSourceFactory.make(counter) { ids.update { $0[0].append(0) } })
    }
    try thread.start()
    try thread.perform {
      isBlocked.open()
      mayGoOn.wait()
    }
    isBlocked.wait()
    for id: UInt32 in 1...16 { for port in ports { try port.sendRight.trySend(RunLoop.Message(id: id)) } }
    counter.add()
    thread.stop(.afterDueWork)
    mayGoOn.open()
    try thread.join()
    XCTAssertEqual(ids.value[0].filter { $0 == 0 }.count, 1)
    for index in 0..<2 { XCTAssertEqual(ids.value[index].filter { $0 != 0 }, (1...16).map { $0 }) }
  }

  func test_RLK_RESIDENT_3_nowNothingElseRuns() throws {
    let counter = EventCounter()
    defer { withExtendedLifetime(counter) {} }
    let (isBlocked, mayGoOn, token) = (Gate(), Gate(), Box<Box<Int>?>(Box(0)))
    let thread = Resident(name: "now")
    try thread.start()
    try thread.perform {
      isBlocked.open()
      mayGoOn.wait()
    }
    isBlocked.wait()
    weak let weakToken = token.value
    try thread.loop!.perform { [kept = token.value] in kept?.value += 1 }
    let count = Box(0)
    try thread.loop!.add(RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in count.value += 1 })
    token.value = nil
    thread.stop(.afterDueWork)
    thread.stop(.now)
    mayGoOn.open()
    try thread.join()
    XCTAssertNil(weakToken)
    XCTAssertEqual(count.value, 0)
  }

  func test_RLK_RESIDENT_4_nestedRunsAreStoppedTooAndLaterOnes() throws {
    let (isDeep, results) = (Gate(), Box<[RunLoop.RunResult?]>([]))
    let thread = Resident(name: "nested")
    try thread.start()
    let loop = thread.loop!
    @Sendable func nest(_ depth: Int) {
      if depth == 0 {
        isDeep.open()
        let result = try? loop.runUntilStopped(in: "deep")
        results.update { $0.append(result) }
      } else {
        let level = RunLoop.Mode(rawValue: "level \(depth)")
        try? loop.enqueue(in: level) { nest(depth - 1) }
        let result = try? loop.runUntilStopped(in: level)
        results.update { $0.append(result) }
      }
      // One that begins afterwards.
      let result = try? loop.runUntilStopped(in: "late")
      results.update { $0.append(result) }
    }
    try thread.perform { nest(5) }
    isDeep.wait()
    thread.stop(.now)
    try thread.join()
    XCTAssertEqual(results.value, Array(repeating: .stopped, count: 12))
  }

  func test_RLK_RESIDENT_5_startTwiceStopTwiceJoinTwice() throws {
    let thread = Resident(name: "twice")
    thread.stop()  // nothing yet
    try thread.join()
    try thread.start()
    XCTAssertEqual(thrown { try thread.start() }, .alreadyStarted)
    XCTAssertTrue(thread.isRunning)
    XCTAssertEqual(thrown { try thread.join(timeout: .milliseconds(1)) }, .timedOut)
    let joined = Box(0)
    let others = (0..<8).map { number in
      TestThread {
        if number % 2 == 0 { thread.stop(number % 4 == 0 ? .now : .afterDueWork) }
        do {
          try thread.join(timeout: number % 3 == 0 ? .seconds(1000) : nil)
          joined.update { $0 += 1 }
        } catch { XCTFail("\(error)") }
      }
    }
    for other in others { other.join() }
    XCTAssertEqual(joined.value, 8)
    try thread.join()
    thread.stop(.now)
    XCTAssertEqual(thrown { try thread.start() }, .alreadyStarted)
  }

  func test_RLK_RESIDENT_6_onTheThreadItself() throws {
    let (thread, results) = (Resident(name: "itself"), Box<[RunLoopError?]>([]))
    try thread.start()
    try thread.perform {
      let errors = [thrown { try thread.join() }, thrown { try thread.start() }]
      thread.stop(.now)
      results.value = errors + [thrown { try thread.join(timeout: .seconds(1)) }]
    }
    try thread.join()
    let deadlock = RunLoopError.wouldDeadlock
    XCTAssertEqual(results.value, [deadlock, .alreadyStarted, deadlock])
  }

  func test_RLK_RESIDENT_7_aSetUpThatFailsIsTheErrorOfStart() {
    struct Failure: Error, Equatable {}
    weak var weakToken: Box<Int>?
    let thread: Resident
    do {
      let token = Box(0)
      weakToken = token
      thread = Resident(name: "fails") { _ in
        token.value += 1
        throw Failure()
      }
    }
    XCTAssertNotNil(weakToken)
    XCTAssertThrowsError(try thread.start()) { XCTAssertEqual($0 as? Failure, Failure()) }
    XCTAssertNil(weakToken)
    XCTAssertNil(thread.loop)
    XCTAssertFalse(thread.isRunning)
    XCTAssertEqual(thrown { try thread.perform {} }, .loopEnded)
    XCTAssertNil(thrown { try thread.join() })
    XCTAssertEqual(thrown { try thread.start() }, .alreadyStarted)
  }

  /// Nobody calls it any more.
  func test_RLK_RESIDENT_7_aSetUpThatCannotBeCalledIsReleased() {
    CountingKernel.install()
    defer { CountingKernel.script = CountingKernel.Script() }
    weak var weakToken: Box<Int>?
    let thread: Resident
    do {
      let token = Box(0)
      weakToken = token
      thread = Resident(name: "refused") { _ in token.value += 1 }
    }
    onThread {
      CountingKernel.install()
      CountingKernel.script.control = { -ENOSPC }
      XCTAssertEqual(thrown { try thread.start() }, .system(ENOSPC, call: "epoll_ctl"))
    }
    XCTAssertNil(weakToken)
  }

  func test_RLK_RESIDENT_8_toldDuringItsSetUpItEndsAfterIt() throws {
    for ending: Resident.Ending in [.now, .afterDueWork] {
      let (ran, made) = (Box(0), Box<Resident?>(nil))
      let thread = Resident(name: "set-up") { loop in
        made.value?.stop(ending)
        try loop.perform { ran.value += 1 }
      }
      made.value = thread
      try thread.start()
      try thread.join()
      made.value = nil
      XCTAssertEqual(ran.value, ending == .now ? 0 : 1)
    }
  }

  func test_RLK_RESIDENT_9_aThreadThatCannotBeMadeMayBeStartedLater() {
    let thread = Resident(name: "small", stackSize: 1)
    XCTAssertEqual(thrown { try thread.start() }, .system(EINVAL))
    XCTAssertEqual(thrown { try thread.start() }, .system(EINVAL))
    XCTAssertNil(thrown { try thread.join() })
  }

  /// The smallest stack serves what a loop has: a timer, a port, blocks, its description; an odd size is rounded up.
  func test_RLK_RESIDENT_30_theSmallestStackServes() throws {
    for size in [Resident.minimumStackSize, Resident.minimumStackSize + 1] {
      let served = Box(0)
      let thread = Resident(name: "small", stackSize: size) { loop in
        try loop.add(RunLoop.Timer(fireDate: .now) { _ in served.value += 1 })
        let port = RunLoop.Port { _, message in if message.id == 7 { served.value += 1 } }
        try loop.add(port)
        try port.sendRight.trySend(RunLoop.Message(id: 7))
      }
      try thread.start()
      try thread.perform { if RunLoop.current.description.isEmpty == false { served.value += 1 } }
      thread.stop()
      try thread.join()
      XCTAssertEqual(served.value, 3)
    }
  }

  func test_RLK_RESIDENT_10_nameAndStack() throws {
    func name(of given: String) throws -> String {
      let thread = Resident(name: given, stackSize: 1 << 20)
      try thread.start()
      let name = try thread.loop!.performAndWait { nameOfThread() }
      thread.stop()
      try thread.join()
      return name
    }
    XCTAssertEqual(try name(of: "worker"), "worker")
    XCTAssertEqual(try name(of: "fifteen letters and more"), "fifteen letters")
    XCTAssertEqual(try name(of: "ünïcödé wörker"), "ünïcödé wö")
  }

  /// An owner in the usual manner: it has the thread, and its blocks have it weakly.
  private final class Owner: @unchecked Sendable {
    let thread = RunLoop.Thread(name: "owned")
    var ticks = 0

    func begin(_ ended: Gate) throws {
      try thread.start()
      try thread.perform { [weak self] in self?.ticks += 1 }
      let timer = RunLoop.Timer(fireDate: .now, interval: .milliseconds(1)) { [weak self] _ in self?.ticks += 1 }
      try thread.loop!.add(timer)
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { _, _ in ended.open() }
      try thread.loop!.add(RunLoop.Source(hooks: hooks) { _ in })
    }
  }

  func test_RLK_RESIDENT_11_anOwnerWithWeakBlocksGoesAndTakesTheThreadAlong() throws {
    let ended = Gate()
    weak var weakOwner: Owner?
    weak var weakLoop: RunLoop?
    do {
      let owner = Owner()
      weakOwner = owner
      try owner.begin(ended)
      weakLoop = owner.thread.loop
      try owner.thread.loop!.performAndWait {}
    }
    XCTAssertNil(weakOwner)
    ended.wait()  // the thread ends by itself
    yieldUntil(weakLoop == nil)
  }

  func test_RLK_RESIDENT_12_aHandleThatGoesOnItsOwnThread() throws {
    let ended = Gate()
    do {
      let thread = Resident(name: "own")
      try thread.start()
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { _, _ in ended.open() }
      try thread.loop!.add(RunLoop.Source(hooks: hooks) { _ in })
      try thread.loop!.perform { withExtendedLifetime(thread) {} }
    }
    ended.wait()
  }

  func test_RLK_RESIDENT_13_aThousandLeaveNothing() throws {
    func wave(_ count: Int) throws {
      for number in 0..<count {
        let thread = Resident(name: "wave")
        try thread.start()
        thread.stop(number % 2 == 0 ? .now : .afterDueWork)
        try thread.join()
      }
    }
    try wave(50)
    let (descriptors, memory) = (openDescriptors(), test_memory_in_use())
    try wave(1000)
    XCTAssertEqual(openDescriptors(), descriptors)
    XCTAssertLessThan(test_memory_in_use() - memory, 256 * 1024)
  }

  func test_RLK_RESIDENT_14_aPlainStopOfItsRunEndsItToo() throws {
    let thread = Resident(name: "plain")
    try thread.start()
    try thread.perform { RunLoop.current.stop() }
    try thread.join()
    XCTAssertTrue(thread.loop!.hasEnded)
  }

  func test_RLK_RESIDENT_15_anEmptyModeIsKeptRunningUntilStop() {
    onThread {
      let loop = RunLoop.current
      XCTAssertEqual(
        thrown { try loop.runUntilStopped(in: .common) }, .commonModeNotRunnable)
      let stopper = TestThread {
        yieldUntil(loop.currentMode == "empty")
        loop.stop()
      }
      XCTAssertEqual(try loop.runUntilStopped(in: "empty"), .stopped)
      stopper.join()
      XCTAssertTrue(loop.isEmpty(in: "empty"))
    }
  }
}
