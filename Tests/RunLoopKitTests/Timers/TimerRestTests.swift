import RunLoopKit
import Synchronization
import XCTest

import class RunLoopKit.RunLoop

/// A pass leaves the timers alone while none is due; what changes meanwhile is seen all the same.
final class TimerRestTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  private static let readings = Atomic<Int>(0)

  private func readings(_ body: () throws -> Void) rethrows -> Int {
    CountingKernel.script.atReading = { Self.readings.add(1, ordering: .relaxed) }
    defer { CountingKernel.script.atReading = nil }
    let before = Self.readings.load(ordering: .relaxed)
    try body()
    return Self.readings.load(ordering: .relaxed) - before
  }

  func test_RLK_COST_8_aPassReadsTheClockOnceIfATimerIsPending() {
    onThread { [self] in
      let loop = RunLoop.current
      let counter = EventCounter()
      defer { withExtendedLifetime(counter) {} }
      try loop.add(PortSourceFactory.make(counter) {})
      try loop.run(for: .zero)
      XCTAssertEqual(try readings { for _ in 0..<10 { try loop.run(for: .zero) } }, 0)
      try loop.add(RunLoop.Timer(after: .seconds(1000)) { _ in })
      try loop.run(for: .zero)
      let counts = try CountingKernel.count {
        XCTAssertEqual(try readings { for _ in 0..<10 { try loop.run(for: .zero) } }, 10)
      }
      XCTAssertEqual(counts, CountingKernel.Counts(waits: 10))
    }
  }

  func test_RLK_TIMER_9_aNestedRunFiresWhatIsCollectedThoughALaterTimerWasArmed() {
    onThread {
      let loop = RunLoop.current
      let fired = Box<[String]>([])
      let due = RunLoop.Instant.now
      try loop.add(
        RunLoop.Timer(fireDate: due) { _ in
          _ = try? loop.add(RunLoop.Timer(after: .seconds(1000)) { _ in })
          fired.value.append("first")
          _ = try? loop.run(for: .zero)
          fired.value.append("after the nested run")
        })
      try loop.add(RunLoop.Timer(fireDate: due) { _ in fired.value.append("second") })
      try loop.run(for: .zero)
      XCTAssertEqual(fired.value, ["first", "second", "after the nested run"])
    }
  }

  func test_RLK_TIMER_9b_aFiringTimerWakesNoNestedRunOfItsOtherMode() {
    onThread {
      let loop = RunLoop.current
      let other = RunLoop.Mode(rawValue: "other")
      let counts = Box(CountingKernel.Counts())
      let counter = EventCounter()
      defer { withExtendedLifetime(counter) {} }
      // A mode with a descriptor is armed for its timers while it does not run.
      try loop.add(PortSourceFactory.make(counter) {}, to: other)
      let timer = RunLoop.Timer(after: .zero, interval: .seconds(1000)) { _ in
        counts.value = CountingKernel.count { _ = try? loop.run(in: other, for: .milliseconds(1)) }
      }
      try loop.add(timer)
      try loop.add(timer, to: other)
      try loop.run(for: .zero)
      XCTAssertEqual(counts.value.waits, 1)
      timer.invalidate()
    }
  }
}
