import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Timers on other clocks than the suspending one, on the real ones. What suspending and setting do: RunLoopTestingTests.
final class ClockTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  private func neverEarly<Date: RunLoop.ClockInstant>(_: Date.Type, _ loop: RunLoop) throws {
    for step in 1...20 {
      let date = Date.now.advanced(by: .microseconds(step * 41))
      let fired = Box<Date?>(nil)
      let timer = RunLoop.Timer(fireDate: date, tolerance: .microseconds(step % 3 * 200)) { _ in fired.value = .now }
      XCTAssertEqual(timer.clock, Date.clock)
      try loop.add(timer)
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
      XCTAssertGreaterThanOrEqual(fired.value!, date)
    }
  }

  func test_RLK_CLOCK_1_neverEarlyOnAnyClock() {
    onThread {
      try self.neverEarly(RunLoop.Instant.self, .current)
      try self.neverEarly(RunLoop.ContinuousInstant.self, .current)
      try self.neverEarly(RunLoop.WallInstant.self, .current)
    }
  }

  func testTheDatesOfEachClockAreNanoseconds() {
    onThread {
      let loop = RunLoop.current
      let resolutions = [
        loop.clock.minimumResolution, loop.continuousClock.minimumResolution, loop.wallClock.minimumResolution,
      ]
      XCTAssertEqual(resolutions, Array(repeating: .nanoseconds(1), count: 3))
    }
  }

  func test_RLK_CLOCK_2_aClockTakesOneDescriptorOfAMode() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      try loop.run(for: .zero)
      let before = openDescriptors()
      for _ in 0..<5 { try loop.add(RunLoop.Timer(fireDate: RunLoop.WallInstant.distantFuture) { _ in }) }
      XCTAssertEqual(openDescriptors(), before + 1)
      for _ in 0..<5 { try loop.add(RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.distantFuture) { _ in }) }
      XCTAssertEqual(openDescriptors(), before + 2)
      for clock in ["continuous", "wall"] {
        XCTAssertTrue(loop.description.contains("timer port of the \(clock) clock: descriptor"), loop.description)
      }
    }
  }

  func test_RLK_CLOCK_3_aRefusedDescriptorLeavesNothingHalfAdded() {
    // The timerfd; and its place in the port set, if there is one already. The timer is added without it.
    for hasSet in [false, true] { refuseEachCall(hasSet) }
  }

  private func refuseEachCall(_ hasSet: Bool) {
    var hasSucceeded = false
    for call in 1...20 where !hasSucceeded {
      let before = openDescriptors()
      let isHit = Box(false)
      onThread {
        let (loop, fired) = (RunLoop.current, Box(false))
        if hasSet { XCTAssertNoThrow(try loop.hostDescriptor().fileDescriptor) }
        let timer = RunLoop.Timer(fireDate: RunLoop.WallInstant.now) { _ in fired.value = true }
        Faults.plan(call: call)
        try loop.add(timer)
        isHit.value = Faults.end()
        XCTAssertTrue(loop.contains(timer, in: .default))
        XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
        XCTAssertTrue(fired.value)
      }
      XCTAssertEqual(openDescriptors(), before, "call \(call)")
      hasSucceeded = !isHit.value
      XCTAssertEqual(hasSucceeded, call > (hasSet ? 2 : 1), "call \(call)")
    }
    XCTAssertTrue(hasSucceeded)
  }

  func test_RLK_CLOCK_4_datesAreToldOnEachClock() {
    let wall = RunLoop.Timer(fireDate: RunLoop.WallInstant.now.advanced(by: .seconds(100))) { _ in }
    let before = RunLoop.Instant.now
    XCTAssertGreaterThan(wall.fireDate!, before.advanced(by: .seconds(90)))
    XCTAssertLessThan(wall.fireDate!, before.advanced(by: .seconds(101)))
    wall.continuousFireDate = .now.advanced(by: .seconds(500))
    XCTAssertGreaterThan(wall.wallFireDate!, .now.advanced(by: .seconds(490)))
    wall.fireDate = .distantFuture
    XCTAssertEqual(wall.wallFireDate, .distantFuture)
    XCTAssertEqual(wall.continuousFireDate, .distantFuture)
    wall.fireDate = RunLoop.Instant(nanoseconds: .max - 1)
    XCTAssertLessThan(wall.wallFireDate!, .distantFuture)
    XCTAssertTrue(wall.description.contains("wall clock"), wall.description)
    XCTAssertEqual(RunLoop.TimerClock.allCases.map { "\($0)" }, ["suspending", "continuous", "wall"])
    // As coreutils' date +%s has it.
    XCTAssertEqual(Int(RunLoop.WallInstant.now.nanoseconds / 1_000_000_000), time(nil), accuracy: 2)
  }

  func test_RLK_CLOCK_5_aHostHearsOfThem() {
    onThread {
      let (loop, fired) = (RunLoop.current, Box(0))
      for _ in 0..<2 {
        try loop.add(
          RunLoop.Timer(fireDate: RunLoop.WallInstant.now.advanced(by: .milliseconds(3))) { _ in fired.value += 1 })
        try loop.add(
          RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.now.advanced(by: .milliseconds(5))) { _ in fired.value += 1
          })
      }
      while fired.value < 4 {
        var entry = pollfd(fd: try loop.hostDescriptor().fileDescriptor, events: Int16(POLLIN), revents: 0)
        if try !loop.prepareToWait() { XCTAssertEqual(poll(&entry, 1, 30_000), 1) }
        try loop.runPendingWork()
      }
    }
  }

  func test_RLK_TIMER_7_aToleranceChangesNoPlaceAmongEqualDates() {
    onThread {
      let (loop, log) = (RunLoop.current, Box<[Int]>([]))
      let date = RunLoop.Instant.now.advanced(by: .milliseconds(2))
      let timers = (1...3).map { index in RunLoop.Timer(fireDate: date) { _ in log.update { $0.append(index) } } }
      for timer in timers { try loop.add(timer) }
      timers[0].tolerance = .milliseconds(1)
      timers[1].tolerance = .milliseconds(4)
      timers[1].tolerance = .zero
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
      XCTAssertEqual(log.value, [1, 2, 3])
    }
  }
}
