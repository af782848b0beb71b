import RunLoopKit
import XCTest

final class TimerScheduleTests: XCTestCase {
  func testADateInThePastMeansNowAndIsReportedAsItIs() {
    var schedule = TimerSchedule(date: 40, now: 100)
    XCTAssertEqual([schedule.reported, schedule.date], [40, 100])
    schedule.setDate(250, now: 110)
    XCTAssertEqual([schedule.reported, schedule.date], [250, 250])
    schedule.setDate(10, now: 120)
    XCTAssertEqual([schedule.reported, schedule.date], [10, 120])
  }

  /// The wall clock may be set back before it fires.
  func testADateInThePastOfTheWallClockStaysThatDate() {
    let schedule = TimerSchedule(date: 40, now: 100)
    XCTAssertEqual(schedule.date(on: .wall), 40)
    XCTAssertEqual(schedule.date(on: .suspending), 100)
    XCTAssertEqual(schedule.date(on: .continuous), 100)
  }

  func testToleranceIsAtMostHalfTheInterval() {
    var schedule = TimerSchedule(date: 0, now: 0)
    schedule.setTolerance(70, interval: 100)
    XCTAssertEqual(schedule.tolerance, 50)
    schedule.setTolerance(30, interval: 100)
    XCTAssertEqual(schedule.tolerance, 30)
    schedule.setTolerance(70, interval: 0)
    XCTAssertEqual(schedule.tolerance, 70)
  }

  func testMissedDatesOfThePhaseAreSkipped() {
    var schedule = TimerSchedule(date: 100, now: 0)
    schedule.advance(fired: 100, interval: 10, now: 103)
    XCTAssertEqual([schedule.reported, schedule.date], [110, 110])
    schedule.advance(fired: 110, interval: 10, now: 157)
    XCTAssertEqual(schedule.date, 160)
    // A date that is now lies not ahead.
    schedule.advance(fired: 160, interval: 10, now: 170)
    XCTAssertEqual(schedule.date, 180)
    schedule.advance(fired: 180, interval: .max, now: 181)
    XCTAssertEqual(schedule.date, .max)
  }

  func testAClockThatWasSetBackMakesItFireNow() {
    var schedule = TimerSchedule(date: 100, now: 0)
    schedule.settle(now: 60)
    XCTAssertEqual([schedule.reported, schedule.date], [100, 60])
    schedule.settle(now: 80)
    XCTAssertEqual(schedule.date, 60)
  }
}
