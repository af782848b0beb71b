import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class TimerTests: XCTestCase {
  func test_RLK_TIMER_1_neverEarly() {
    onThread {
      let loop = RunLoop.current
      for step in 1...40 {
        let date = RunLoop.Instant.now.advanced(by: .microseconds(step * 37))
        let fired = Box<RunLoop.Instant?>(nil)
        try loop.add(RunLoop.Timer(fireDate: date) { _ in fired.value = .now })
        XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
        XCTAssertGreaterThanOrEqual(fired.value!, date)
      }
    }
  }

  func test_RLK_TIMER_2_toleranceIsClamped() {
    let repeating = RunLoop.Timer(fireDate: .distantFuture, interval: .milliseconds(100), tolerance: .seconds(1)) { _ in
    }
    XCTAssertEqual(repeating.tolerance, .milliseconds(50))
    repeating.tolerance = .milliseconds(-3)
    XCTAssertEqual(repeating.tolerance, .zero)
    let once = RunLoop.Timer(fireDate: .distantFuture, tolerance: .seconds(5)) { _ in }
    XCTAssertEqual(once.tolerance, .seconds(5))
    once.tolerance = .seconds(-1)
    XCTAssertEqual(once.tolerance, .zero)
  }

  func test_RLK_TIMER_14_noToleranceIsTheLoopsAndZeroIsExact() {
    onThread {
      let loop = RunLoop.current
      loop.defaultTimerTolerance = .seconds(5)
      func tolerance(_ timer: RunLoop.Timer) throws -> Duration {
        try loop.add(timer)
        return timer.tolerance
      }
      let later = RunLoop.Instant.now.advanced(by: .seconds(60))
      XCTAssertEqual(try tolerance(RunLoop.Timer(fireDate: later) { _ in }), .seconds(5))
      XCTAssertEqual(try tolerance(RunLoop.Timer(fireDate: later, tolerance: .zero) { _ in }), .zero)
      XCTAssertEqual(try tolerance(RunLoop.Timer(fireDate: later, tolerance: .seconds(1)) { _ in }), .seconds(1))
      XCTAssertEqual(try tolerance(RunLoop.Timer(fireDate: later, tolerance: .seconds(-1)) { _ in }), .zero)
      XCTAssertEqual(try tolerance(RunLoop.Timer(after: .seconds(60), tolerance: .zero) { _ in }), .zero)
      XCTAssertEqual(
        try tolerance(RunLoop.Timer(fireDate: RunLoop.WallInstant.distantFuture, tolerance: .zero) { _ in }), .zero)
      XCTAssertEqual(
        try tolerance(RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.distantFuture, tolerance: .zero) { _ in }),
        .zero)
      XCTAssertEqual(try tolerance(RunLoop.Timer(rearmable: .distantFuture, tolerance: .zero) { _ in }), .zero)
      XCTAssertEqual(try tolerance(RunLoop.Timer(rearmableOn: .wall, tolerance: .zero) { _ in }), .zero)
      XCTAssertEqual(try tolerance(RunLoop.Timer(rearmableOn: .wall) { _ in }), .seconds(5))
      let set = RunLoop.Timer(fireDate: later) { _ in }
      set.tolerance = .zero  // before it is added
      XCTAssertEqual(try tolerance(set), .zero)
      try loop.assumeOnLoop { local in
        XCTAssertEqual(try local.timer(after: .seconds(60), tolerance: .zero) { _ in }.tolerance, .zero)
        XCTAssertEqual(try local.timer(after: .seconds(60)) { _ in }.tolerance, .seconds(5))
        XCTAssertEqual(try local.rearmableTimer(tolerance: .zero) { _ in }.tolerance, .zero)
      }
    }
  }

  func test_RLK_TIMER_3_equalDatesFireInTheOrderOfSetting() {
    onThread {
      let loop = RunLoop.current
      let log = Box<[Int]>([])
      let date = RunLoop.Instant.now.advanced(by: .milliseconds(2))
      let timers = (0..<100).map { index in
        RunLoop.Timer(fireDate: date, order: -index) { _ in log.update { $0.append(index) } }
      }
      for timer in timers { try loop.add(timer) }
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
      XCTAssertEqual(log.value, Array(0..<100))
    }
  }

  func test_RLK_TIMER_4_strangeDatesAreAccepted() {
    onThread {
      let loop = RunLoop.current
      let fired = Box(0)
      let dates: [RunLoop.Instant] = [
        .init(nanoseconds: 0), .init(nanoseconds: .max), .init(nanoseconds: .max - 1), .now,
      ]
      for date in dates {
        for interval: Duration in [.zero, .seconds(-1), .seconds(Int64.max), .nanoseconds(1)] {
          try loop.add(
            RunLoop.Timer(fireDate: date, interval: interval, tolerance: .seconds(-7)) { _ in fired.value += 1 })
        }
      }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertGreaterThan(fired.value, 0)
      XCTAssertNotNil(loop.nextFireDate(in: .default))
    }
  }

  func test_RLK_TIMER_5_anEarlierDateByAnotherThreadWakes() {
    let (timer, asleep) = (RunLoop.Timer(fireDate: .distantFuture) { _ in RunLoop.current.stop() }, Gate())
    let thread = TestThread {
      _ = try? RunLoop.current.add(timer)
      _ = try? RunLoop.current.add(RunLoop.Observer(.beforeWaiting) { _, _ in asleep.open() })
      XCTAssertEqual(try? RunLoop.current.run(for: .seconds(60)), .stopped)
    }
    asleep.wait()
    timer.fireDate = .now
    thread.join()
    XCTAssertNil(timer.fireDate)
  }

  func test_RLK_TIMER_6_theDateOfAnInvalidTimerIsNone() {
    let timer = RunLoop.Timer.never()
    XCTAssertEqual(timer.fireDate, .distantFuture)
    timer.invalidate()
    timer.fireDate = .now
    XCTAssertNil(timer.fireDate)
  }

  func test_RLK_TIME_1_instantsSaturate() {
    saturates(RunLoop.Instant.self)
    saturates(RunLoop.ContinuousInstant.self)
    saturates(RunLoop.WallInstant.self)
  }

  private func saturates<Date: RunLoop.ClockInstant>(_: Date.Type) {
    let (early, late) = (Date(nanoseconds: 4), Date(nanoseconds: 10))
    XCTAssertEqual(early.advanced(by: .seconds(-1)).nanoseconds, 0)
    XCTAssertEqual(late.advanced(by: .seconds(Int64.min)).nanoseconds, 0)
    XCTAssertEqual(Date.distantFuture.advanced(by: .seconds(1)), .distantFuture)
    XCTAssertEqual(early.advanced(by: .seconds(Int64.max)), .distantFuture)
    XCTAssertEqual(late.advanced(by: .nanoseconds(-6)), early)
    XCTAssertEqual(late.duration(to: early), .nanoseconds(-6))
    XCTAssertEqual(early.duration(to: late), .nanoseconds(6))
    XCTAssertEqual(late.advanced(by: Duration(secondsComponent: 0, attosecondsComponent: 1)).nanoseconds, 11)
    XCTAssertTrue(early < late && late < .distantFuture)
    XCTAssertFalse(late < early || late < late)
  }
}
