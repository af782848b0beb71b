import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Clocks and kernels that are not as one would like them: scripted.
final class KernelCaseTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }
  override func tearDown() { CountingKernel.script = CountingKernel.Script() }

  /// A wait that the kernel ends early, or that a signal interrupts, is begun again: nobody is told, and it is counted.
  private func returnsEarly(_ answer: Int32, line: UInt = #line) {
    onThread {
      let loop = RunLoop.current
      let (told, early) = (Box<[RunLoop.Activity]>([]), Box(5))
      loop.collectsStatistics = true
      try loop.add(RunLoop.Timer.never())
      try loop.add(
        RunLoop.Observer([.beforeWaiting, .afterWaiting, .beforeTimers]) { _, activity in
          told.update { $0.append(activity) }
        })
      CountingKernel.script.wait = { _ in
        early.update {
          $0 -= 1
          return $0 >= 0 ? answer : nil
        }
      }
      let date = RunLoop.Instant.now.advanced(by: .milliseconds(3))
      let counts = try CountingKernel.count { XCTAssertEqual(try loop.run(until: date), .timedOut, line: line) }
      XCTAssertGreaterThanOrEqual(RunLoop.Instant.now, date, line: line)
      XCTAssertEqual(told.value, [.beforeTimers, .beforeWaiting, .afterWaiting], line: line)
      XCTAssertEqual(counts.waits, 6, line: line)
      XCTAssertEqual(loop.statistics.spuriousWakes, 5, line: line)
      XCTAssertEqual(loop.statistics.passes, 1, line: line)
    }
  }

  func test_RLK_RUN_15_aWaitThatEndsEarlyIsBegunAgain() { returnsEarly(0) }

  func test_RLK_SIGNAL_14_anInterruptedWaitIsBegunAgain() { returnsEarly(-EINTR) }

  /// Also one that fails, for want of memory for instance.
  func test_RLK_FAULT_4_aWaitThatFailsIsBegunAgain() { returnsEarly(-ENOMEM) }

  /// Waits fail at each place of a run that serves a timer, a port and a block by another thread; all are served.
  func test_RLK_FAULT_4_eachWaitOfARunFailsOnce() {
    for call in 1...6 {
      onThread {
        let (loop, log, left) = (RunLoop.current, Box<Set<String>>([]), Box(call))
        let counter = EventCounter()
        @Sendable func note(_ name: String) {
          let isAll = log.update {
            $0.insert(name)
            return $0.count == 3
          }
          if isAll { loop.stop() }
        }
        try loop.add(PortSourceFactory.make(counter) { note("port") })
        try loop.add(RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(1))) { _ in note("timer") })
        try loop.add(RunLoop.Timer.never())
        CountingKernel.script.wait = { _ in
          left.update {
            $0 -= 1
            return $0 == 0 ? -ENOMEM : nil
          }
        }
        counter.add()
        let other = TestThread { try? loop.perform { note("block") } }
        XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped, "call \(call)")
        other.join()
        CountingKernel.script.wait = nil
      }
    }
  }

  /// A clock of five-millisecond steps, with timers to match: no date is missed, none early, and nothing spins.
  func test_RLK_CLOCK_6_aCoarseClock() {
    let step: UInt64 = 5_000_000
    onThread {
      let up: @Sendable (UInt64) -> UInt64 = { $0 > .max - step ? .max : ($0 + step - 1) / step * step }
      CountingKernel.script.now = { $0 / step * step }
      CountingKernel.script.deadline = up
      let (loop, fired) = (RunLoop.current, Box(0))
      let due = Box(RunLoop.Instant.now.advanced(by: .milliseconds(1)))
      try loop.add(
        RunLoop.Timer(fireDate: due.value, interval: .milliseconds(1)) { timer in
          XCTAssertGreaterThanOrEqual(RunLoop.Instant.now, due.value)
          due.value = timer.fireDate!
          fired.value += 1
          if fired.value == 6 { loop.stop() }
        })
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in })
      var result: RunLoop.RunResult?
      let counts = try CountingKernel.count { result = try loop.run(for: .seconds(30)) }
      XCTAssertEqual(result, .stopped)
      XCTAssertLessThanOrEqual(counts.waits, 3 * 7)
      let limit = RunLoop.Instant.now.advanced(by: .milliseconds(7))
      XCTAssertEqual(try loop.run(until: limit), .timedOut)
      XCTAssertGreaterThanOrEqual(RunLoop.Instant.now, limit)
    }
  }

  /// Readings that go back a little again and again, and once for milliseconds: nothing traps, wraps, or is lost.
  func test_RLK_CLOCK_7_aClockThatGoesBack() {
    onThread {
      let (loop, fired, readings) = (RunLoop.current, Box(0), Box<UInt64>(0))
      CountingKernel.script.now = { now in
        let number = readings.update {
          $0 += 1
          return $0
        }
        return now - number % 7 * 20_000 - (fired.value > 5 ? 2_000_000 : 0)
      }
      loop.collectsStatistics = true
      try loop.add(
        RunLoop.Timer(fireDate: .now, interval: .microseconds(500)) { _ in
          fired.value += 1
          if fired.value == 20 { loop.stop() }
        })
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      XCTAssertEqual(try loop.run(for: .milliseconds(1)), .timedOut)
      XCTAssertGreaterThanOrEqual(loop.statistics.runTime, .zero)
      XCTAssertGreaterThanOrEqual(loop.statistics.sleepTime, .zero)
      XCTAssertGreaterThanOrEqual(loop.statistics.runTime, loop.statistics.sleepTime)
      let later = RunLoop.Instant.now
      XCTAssertEqual(later.duration(to: later.advanced(by: .seconds(-1))), .seconds(-1))
    }
  }
}
