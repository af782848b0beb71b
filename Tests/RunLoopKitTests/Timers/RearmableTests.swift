import CTestSupport
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What a rearmable timer costs, and what threads may do to it. What it does in time: RunLoopTestingTests.
final class RearmableTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  func test_RLK_REARM_1_pushingADateOutBehindAnotherIsNoSystemCallAndNoAllocation() throws {
    onThread {
      let loop = RunLoop.current
      let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in }
      try loop.add(RunLoop.Timer(fireDate: .now.advanced(by: .seconds(1000))) { _ in })
      try loop.add(timer)
      try loop.run(for: .zero)
      for _ in 0..<10 { timer.rearm(after: .seconds(1001)) }
      let before = test_allocations()
      let counts = CountingKernel.count { for _ in 0..<1000 { timer.rearm(after: .seconds(1001)) } }
      // Not counted under a sanitizer: both are -1.
      XCTAssertEqual(test_allocations(), before)
      XCTAssertEqual(counts, CountingKernel.Counts())
    }
  }

  /// Another thread may have read the clock before the date came that fires when its own arrives: played by a clock that is
  /// behind for a moment. Its date counts nevertheless.
  func test_RLK_REARM_3_aDateCountsWhoseClockWasReadBeforeTheCallout() throws {
    onThread {
      let (loop, fired) = (RunLoop.current, Box(0))
      let timer = RunLoop.Timer(rearmable: .now) { timer in
        fired.value += 1
        if fired.value == 2 { return loop.stop() }
        CountingKernel.script.now = { $0 - 1_000_000_000 }
        timer.rearm(after: .zero)
        CountingKernel.script.now = nil
      }
      try loop.add(timer)
      XCTAssertEqual(try loop.run(for: .seconds(10)), .stopped)
      XCTAssertEqual(fired.value, 2)
    }
  }

  /// By another thread: nothing is written to the loop and it makes no pass; a date that is not the first is no system call.
  func test_RLK_REARM_4_aSleepingLoopIsNotWoken() throws {
    let (loop, ready, fired) = (Box<RunLoop?>(nil), Gate(), Box(0))
    let before = CountingKernel.counts.waits
    let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in
      fired.value += 1
      RunLoop.current.stop()
    }
    let owner = TestThread {
      loop.value = .current
      loop.value!.collectsStatistics = true
      _ = try? loop.value!.add(timer)
      _ = try? loop.value!.add(RunLoop.Timer(fireDate: .now.advanced(by: .seconds(1000))) { _ in })
      ready.open()
      XCTAssertEqual(try? loop.value!.run(), .stopped)
      XCTAssertEqual(loop.value!.statistics.passes, 1)
    }
    ready.wait()
    // It says that it sleeps before it calls the kernel, whose call is counted.
    yieldUntil(loop.value!.isWaiting && CountingKernel.counts.waits != before)
    let behind = CountingKernel.count { for _ in 0..<1000 { timer.rearm(after: .seconds(2000)) } }
    XCTAssertEqual(behind, CountingKernel.Counts())
    let first = CountingKernel.count {
      for _ in 0..<1000 { timer.rearm(after: .seconds(500)) }
      timer.disarm()
    }
    XCTAssertEqual(first.writes, 0)
    XCTAssertGreaterThan(first.timers, 0)
    XCTAssertTrue(loop.value!.isWaiting)
    timer.rearm(after: .milliseconds(1))  // earlier than what the loop sleeps for
    owner.join()
    XCTAssertEqual(fired.value, 1)
  }

  func test_RLK_REARM_6_noDateIsDisarmed() {
    onThread {
      let (loop, fired) = (RunLoop.current, Box(0))
      try loop.add(RunLoop.Timer(after: .seconds(60)) { _ in })
      let timer = RunLoop.Timer(fireDate: .now, interval: .nanoseconds(1)) { timer in
        fired.value += 1
        timer.fireDate = nil
      }
      try loop.add(timer)
      timer.fireDate = nil
      try loop.run(for: .zero)
      XCTAssertEqual(fired.value, 0)
      XCTAssertTrue(timer.isValid)
      XCTAssertEqual(timer.fireDate, .distantFuture)
      timer.fireDate = .now
      for _ in 0..<3 { try loop.run(for: .zero) }
      XCTAssertEqual(fired.value, 1)
      XCTAssertEqual(timer.fireDate, .distantFuture)
      for timer in [
        RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.now) { _ in },
        RunLoop.Timer(fireDate: RunLoop.WallInstant.now) { _ in },
      ] {
        timer.continuousFireDate = nil
        XCTAssertEqual(timer.fireDate, .distantFuture)
        timer.fireDate = .now
        timer.wallFireDate = nil
        XCTAssertEqual(timer.continuousFireDate, .distantFuture)
        timer.invalidate()
        timer.fireDate = nil
        XCTAssertNil(timer.fireDate)
      }
    }
  }

  /// An even part of the jitter, on top of the delay; negative ones count as none, and the largest saturate.
  func test_RLK_REARM_5_jitter() {
    struct Constant: RandomNumberGenerator {
      let value: UInt64
      func next() -> UInt64 { value }
    }
    CountingKernel.script.now = { _ in 5_000_000 }
    defer { CountingKernel.script.now = nil }
    let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in }
    func date(_ delay: Duration, _ jitter: Duration, _ random: UInt64) -> UInt64 {
      var generator = Constant(value: random)
      timer.rearm(after: delay, jitter: jitter, using: &generator)
      return timer.fireDate!.nanoseconds
    }
    XCTAssertEqual(date(.nanoseconds(7), .nanoseconds(1000), 1 << 63), 5_000_507)
    XCTAssertEqual(date(.nanoseconds(7), .nanoseconds(1000), .max), 5_001_007)
    XCTAssertEqual(date(.nanoseconds(7), .zero, .max), 5_000_007)
    XCTAssertEqual(date(.seconds(-7), .seconds(-3), .max), 5_000_000)
    XCTAssertEqual(date(.seconds(Int64.max), .seconds(Int64.max), .max), .max)
    for _ in 0..<100 {
      timer.rearm(after: .nanoseconds(10), jitter: .nanoseconds(20))
      XCTAssertTrue((5_000_010...5_000_030).contains(timer.fireDate!.nanoseconds))
    }
    timer.invalidate()
    timer.rearm(after: .zero, jitter: .zero)
  }

  /// Each of many threads arms it for now and waits for a firing that comes after that; none is lost.
  func test_RLK_REARM_2_armedByManyThreadsNoDateIsLost() {
    let (number, ready) = (Box(0), Gate())
    let fired = NSCondition()
    let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in
      fired.withLock {
        number.value += 1
        fired.broadcast()
      }
    }
    let loop = Box<RunLoop?>(nil)
    let owner = TestThread {
      loop.value = .current
      XCTAssertEqual(try? RunLoop.current.add(timer), true)
      ready.open()
      XCTAssertEqual(try? RunLoop.current.run(), .stopped)
    }
    ready.wait()
    let others = (0..<4).map { _ in
      TestThread {
        for _ in 0..<500 {
          fired.withLock {
            let before = number.value
            timer.rearm(after: .zero)
            while number.value == before {
              guard fired.wait(until: Date(timeIntervalSinceNow: 30)) else { return XCTFail("a date was lost") }
            }
          }
        }
      }
    }
    for thread in others { thread.join() }
    loop.value?.stop()
    owner.join()
    XCTAssertGreaterThanOrEqual(number.value, 500)
  }
}
