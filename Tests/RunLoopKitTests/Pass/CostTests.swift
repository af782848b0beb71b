import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What a pass costs, counted.
final class CostTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  func test_RLK_COST_1_aPassThatOnlyWaitsIsOneSystemCall() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      try loop.run(for: .zero)
      let counts = try CountingKernel.count { try loop.run(for: .milliseconds(1)) }
      XCTAssertEqual(counts, CountingKernel.Counts(waits: 1))
    }
  }

  func test_RLK_COST_2_aPollIsOneSystemCall() {
    onThread {
      let loop = RunLoop.current
      let counter = EventCounter()
      defer { withExtendedLifetime(counter) {} }
      try loop.add(PortSourceFactory.make(counter) {})
      try loop.run(for: .zero)
      let counts = try CountingKernel.count { for _ in 0..<10 { try loop.run(for: .zero) } }
      XCTAssertEqual(counts, CountingKernel.Counts(waits: 10))
    }
  }

  func test_RLK_COST_2b_aPollOfAModeWithoutDescriptorsAsksTheKernelOnceInAWhile() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      let counts = try CountingKernel.count { for _ in 0..<640 { try loop.run(for: .zero) } }
      XCTAssertEqual(counts.waits, 10)
    }
  }

  func test_RLK_COST_2c_aBlockThatQueuesTheNextOneAsksTheKernelOnceInAWhile() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      let count = Box(0)
      @Sendable func again() {
        count.value += 1
        if count.value < 1280 { try? loop.perform(block: again) } else { loop.stop() }
      }
      try loop.perform(block: again)
      let counts = try CountingKernel.count { try loop.run() }
      // Two blocks a pass: at its steps (d) and (m).
      XCTAssertEqual(counts.waits, 10)
    }
  }

  func test_RLK_COST_2d_aTimerThatIsDueIsFiredByAPollThatFollowsOthers() {
    onThread {
      let loop = RunLoop.current
      let fired = Box(0)
      try loop.add(RunLoop.Timer.never())
      for _ in 0..<10 { try loop.run(for: .zero) }
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in fired.value += 1 })
      try loop.run(for: .zero)
      XCTAssertEqual(fired.value, 1)
    }
  }

  func test_RLK_COST_3_aWakeOfALoopThatIsAwakeWritesNothing() {
    onThread {
      let loop = RunLoop.current
      let source = RunLoop.Source { _ in for _ in 0..<100 { loop.wakeUp() } }
      try loop.add(source)
      let counter = EventCounter()
      defer { withExtendedLifetime(counter) {} }
      try loop.add(PortSourceFactory.make(counter) {})
      try loop.run(for: .zero)
      source.signal()
      let counts = try CountingKernel.count { try loop.run(for: .zero) }
      XCTAssertEqual(counts, CountingKernel.Counts(waits: 1))
    }
  }

  func test_RLK_COST_4_wakesOfASleepingLoopWriteOnceASleep() {
    let asleep = Gate()
    let loop = Box<RunLoop?>(nil)
    let thread = TestThread {
      loop.value = RunLoop.current
      _ = try? RunLoop.current.add(RunLoop.Timer.never())
      _ = try? RunLoop.current.add(RunLoop.Observer(.beforeWaiting) { _, _ in asleep.open() })
      _ = try? RunLoop.current.run()
    }
    asleep.wait()
    yieldUntil(loop.value?.isWaiting == true)
    let counts = CountingKernel.count {
      for _ in 0..<50 { loop.value?.wakeUp() }
      asleep.wait()
    }
    loop.value?.stop()
    thread.join()
    // The loop may have gone back to sleep between two of the wakes.
    XCTAssertGreaterThanOrEqual(counts.writes, 1)
    XCTAssertLessThanOrEqual(counts.writes, counts.waits + 1)
    XCTAssertEqual(counts.reads, 0)
  }

  func test_RLK_COST_5_aTimerExpiryIsNotRead() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(1))) { _ in loop.stop() })
      let counts = try CountingKernel.count { try loop.run(for: .seconds(30)) }
      XCTAssertEqual(counts.reads, 0)
      XCTAssertLessThanOrEqual(counts.timers, 1)
      XCTAssertLessThanOrEqual(counts.waits, 2)
    }
  }

  func test_RLK_COST_6_aSteadyPassAllocatesNothing() throws {
    try XCTSkipIf(test_allocations() < 0, "malloc belongs to a sanitizer")
    #if DEBUG
      let isOptimised = false
    #else
      let isOptimised = true
    #endif
    try XCTSkipUnless(isOptimised, "an unoptimised build boxes what an optimised one does not")
    onThread {
      let loop = RunLoop.current
      let counter = EventCounter()
      let source = RunLoop.Source { _ in }
      let fired = Box(0)
      try loop.add(source)
      try loop.add(PortSourceFactory.make(counter) {})
      try loop.add(RunLoop.Observer(.all) { _, _ in })
      try loop.add(RunLoop.Timer(fireDate: .now, interval: .nanoseconds(1)) { _ in fired.value += 1 })
      func pass() throws {
        source.signal()
        counter.add()
        try loop.run(for: .zero)
      }
      for _ in 0..<20 { try pass() }
      let before = test_allocations()
      for _ in 0..<100 { try pass() }
      XCTAssertEqual(test_allocations() - before, 0)
      XCTAssertGreaterThan(fired.value, 0)
    }
  }

  func test_RLK_COST_7_aLoopHasTwoDescriptorsThreeWithTimers() {
    onThread {
      let before = openDescriptors()
      let loop = RunLoop.current
      XCTAssertEqual(openDescriptors(), before)
      let counter = EventCounter()
      try loop.add(PortSourceFactory.make(counter) {})
      try loop.run(for: .zero)
      XCTAssertEqual(openDescriptors(), before + 1 + 2)
      try loop.add(RunLoop.Timer.never())
      XCTAssertEqual(openDescriptors(), before + 1 + 3)
    }
  }

  /// Only the mode that runs arms its timerfd, and each that has descriptors.
  func test_RLK_COST_9_aCommonTimerCostsOneSettingAFire() {
    for (isWatched, settings) in [(false, 1), (true, 2)] {
      onThread {
        let (loop, fired, counter) = (RunLoop.current, Box(0), EventCounter())
        loop.addCommonMode("never run")
        loop.addCommonMode("run once")
        XCTAssertEqual(try loop.run(in: "run once", for: .zero), .finished)
        let timer = RunLoop.Timer(fireDate: .now, interval: .microseconds(200)) { _ in
          fired.value += 1
          if fired.value % 20 == 0 { loop.stop() }
        }
        try loop.add(timer, to: .common)
        if isWatched { try loop.add(PortSourceFactory.make(counter) {}, to: "never run") }
        XCTAssertEqual(try loop.run(in: "run once", for: .zero), .timedOut)
        XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
        let before = fired.value
        let counts = try CountingKernel.count { XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped) }
        let fires = fired.value - before
        XCTAssertLessThanOrEqual(counts.timers, settings * (fires + 1))
        XCTAssertLessThanOrEqual(counts.waits, fires + 2)
        XCTAssertEqual(counts.controls, 0)
      }
    }
  }

  /// A mode on the stack is armed again when the runs inside its callouts are over.
  func test_RLK_COST_9_aRunInACalloutArmsItsOwnModeOnly() {
    onThread {
      let (loop, fired, counts) = (RunLoop.current, Box(0), Box(CountingKernel.Counts()))
      loop.addCommonMode("inner")
      let timer = RunLoop.Timer(fireDate: .distantFuture, interval: .microseconds(200)) { _ in
        fired.value += 1
        if fired.value >= 20 { loop.stop() }
      }
      try loop.add(timer, to: .common)
      let source = RunLoop.Source { _ in
        timer.fireDate = .now
        counts.value = (try? CountingKernel.count { _ = try loop.run(in: "inner", for: .seconds(30)) }) ?? .init()
      }
      try loop.add(source)
      source.signal()
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      XCTAssertEqual(fired.value, 21)
      XCTAssertLessThanOrEqual(counts.value.timers, 21)
    }
  }

  /// In a mode without descriptors the clock tells of it; the kernel is asked now and then.
  func test_RLK_COST_10_aDateThatHasComeCostsNoSystemCall() {
    onThread {
      let (loop, fired) = (RunLoop.current, Box(0))
      let timer = RunLoop.Timer(rearmable: .now) { timer in
        fired.value += 1
        if fired.value == 640 { loop.stop() } else { timer.rearm(after: .zero) }
      }
      try loop.add(timer)
      let counts = try CountingKernel.count { XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped) }
      XCTAssertEqual(fired.value, 640)
      XCTAssertEqual(counts.timers, 0)
      XCTAssertLessThanOrEqual(counts.waits, 11)
    }
  }
}
