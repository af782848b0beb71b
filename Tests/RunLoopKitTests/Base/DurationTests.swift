import RunLoopKit
import RunLoopTestSupport
import XCTest

/// Durations as nanoseconds: late is allowed, early is not.
final class DurationTests: XCTestCase {
  func test_RLK_TIME_2_durationsAreRoundedUpToNanoseconds() {
    for (nanoseconds, rounded) in [
      (0, 0), (1, 1), (999_999_999, 999_999_999), (1_000_000_000, 1_000_000_000),
      (9_007_199_254_740_993, 9_007_199_254_740_993), (Int64.max, UInt64(Int64.max)),
    ] as [(Int64, UInt64)] {
      XCTAssertEqual(Duration.nanoseconds(nanoseconds).nanosecondsRoundedUp, rounded)
      XCTAssertEqual(Duration.nanoseconds(-nanoseconds).nanosecondsRoundedUp, 0)
    }
    let attosecond = Duration(secondsComponent: 0, attosecondsComponent: 1)
    XCTAssertEqual(attosecond.nanosecondsRoundedUp, 1)
    XCTAssertEqual((.nanoseconds(7) - attosecond).nanosecondsRoundedUp, 7)
    XCTAssertEqual((.nanoseconds(7) + attosecond).nanosecondsRoundedUp, 8)
    XCTAssertEqual((.seconds(5) + attosecond).nanosecondsRoundedUp, 5_000_000_001)
  }

  func test_RLK_TIME_2b_longDurationsAreNever() {
    let first = Duration.seconds(18_446_744_073)
    XCTAssertEqual((first - .nanoseconds(1)).nanosecondsRoundedUp, 18_446_744_072_999_999_999)
    for never in [first, first + .nanoseconds(1), .seconds(Int64.max)] {
      XCTAssertEqual(never.nanosecondsRoundedUp, .max)
    }
    XCTAssertEqual(Duration.seconds(Int64.min).nanosecondsRoundedUp, 0)
  }

  func test_RLK_TIME_2c_likeComponents() {
    var random = SplitMix(7)
    for _ in 0..<10_000 {
      let duration = Duration(
        secondsComponent: Int64(random.next() % 18_446_744_073), attosecondsComponent: Int64(random.next() >> 5))
      guard duration < .seconds(18_446_744_072) else { continue }
      let (seconds, attoseconds) = duration.components
      let expected = UInt64(seconds) * 1_000_000_000 + UInt64((attoseconds + 999_999_999) / 1_000_000_000)
      XCTAssertEqual(duration.nanosecondsRoundedUp, expected)
    }
  }
}
