import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Looking for a wake before a sleep. The clock's readings are the moments at which another thread would do something.
final class SpinTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }
  override func tearDown() { CountingKernel.script.atReading = nil }

  func test_RLK_SPIN_1_aStopWhileTheLoopLooksCostsNoSystemCall() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Source { _ in })
      loop.spinLimit = .microseconds(20)
      // It has nothing learned yet, and tries its luck once in 64 sleeps.
      for _ in 0..<63 { try loop.run(for: .nanoseconds(1)) }
      CountingKernel.script.atReading = { loop.stop() }
      var result: RunLoop.RunResult?
      let counts = try CountingKernel.count { result = try loop.run() }
      XCTAssertEqual(result, .stopped)
      XCTAssertEqual(counts, CountingKernel.Counts())
    }
  }

  func test_RLK_SPIN_2_whatWasNotPostedIsSleptFor() {
    onThread {
      let (loop, counter) = (RunLoop.current, EventCounter())
      try loop.add(RunLoop.Timer(fireDate: .now, interval: .nanoseconds(1)) { _ in })
      // Without a descriptor a date that has come would not be slept for.
      try loop.add(PortSourceFactory.make(counter) {})
      loop.spinLimit = .microseconds(20)
      let counts = try CountingKernel.count { for _ in 0..<200 { try loop.run(for: .nanoseconds(1)) } }
      XCTAssertGreaterThanOrEqual(counts.waits, 200)
    }
  }

  func test_RLK_SPIN_3_itIsOffAtFirstAndBounded() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Source { _ in })
      XCTAssertEqual(loop.spinLimit, .zero)
      XCTAssertFalse(loop.description.contains("spinning"))
      let readings = Box(0)
      CountingKernel.script.atReading = { readings.value += 1 }
      try loop.add(RunLoop.Observer(.beforeWaiting) { _, _ in loop.stop() })
      for _ in 0..<200 { try loop.run() }
      XCTAssertEqual(readings.value, 0)
      loop.spinLimit = .seconds(1)
      XCTAssertEqual(loop.spinLimit, .microseconds(50))
      XCTAssertTrue(loop.description.contains("spinning before a sleep: 5e-05 seconds"), loop.description)
      loop.spinLimit = .seconds(-1)
      XCTAssertEqual(loop.spinLimit, .zero)
    }
  }
}
