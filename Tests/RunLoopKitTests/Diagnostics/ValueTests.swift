import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What public declarations say of odd values, and of the threads of closures.
final class ValueTests: XCTestCase {
  func test_RLK_VALUE_1_aTimeoutOfNothingDoesNotWait() throws {
    let (inside, leave) = (Gate(), Gate())
    let thread = RunLoop.Thread(name: "busy")
    try thread.start()
    let timer = RunLoop.Timer(fireDate: .now) { _ in
      inside.open()
      leave.wait()
    }
    try thread.loop!.add(timer)
    inside.wait()
    for timeout in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
      XCTAssertEqual(thrown { try timer.invalidateAndWait(timeout: timeout) }, .timedOut)
      XCTAssertEqual(thrown { try thread.join(timeout: timeout) }, .timedOut)
      XCTAssertEqual(thrown { try thread.loop!.performAndWait(timeout: timeout) {} }, .timedOut)
      XCTAssertEqual(thrown { try thread.loop!.barrier(timeout: timeout) }, .timedOut)
    }
    leave.open()
    thread.stop()
    try thread.join()
  }

  /// Negative delays and slices count as none.
  func test_RLK_VALUE_2_negativeDelays() {
    onThread {
      let (loop, ran) = (RunLoop.current, Box(0))
      try loop.perform(after: .seconds(-3)) { ran.value += 1 }
      try loop.assumeOnLoop { local in
        _ = try local.timer(after: .seconds(-3), interval: .seconds(-3)) { _ in ran.value += 1 }
      }
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
      XCTAssertEqual(ran.value, 2)
      try loop.add(RunLoop.Timer.never())
      XCTAssertTrue(
        try loop.runAllModes(slice: .seconds(-1)) {
          ran.value += 1
          return ran.value > 5
        })
      XCTAssertEqual(try loop.run(until: RunLoop.Instant(nanoseconds: 0)), .timedOut)
      let (told, previous) = (Box(0), loop.defaultTimerTolerance)
      loop.reportSlowCallouts(longerThan: .seconds(-1)) { _ in told.value += 1 }
      try loop.perform {
        let began = RunLoop.Instant.now
        while RunLoop.Instant.now == began {}
      }
      try loop.run(for: .zero)
      XCTAssertEqual(told.value, 1)
      XCTAssertEqual(previous, .zero)
    }
  }

  /// The thread of the loop that runs, for what is not an item's own closure.
  func test_RLK_VALUE_3_theThreadsOfClosures() {
    onThread {
      let (loop, wrong, calls) = (RunLoop.current, Box(0), Box(0))
      @Sendable func note() {
        calls.value += 1
        if RunLoop.current !== loop { wrong.value += 1 }
      }
      let counter = EventCounter()
      let limit = RunLoop.RateLimit(count: 1, per: .milliseconds(1)) { _ in
        note()
        loop.stop()
      }
      let limited = try RunLoop.PortSource(fileDescriptor: counter.descriptor, limit: limit) { _ in note() }
      try loop.add(limited)
      counter.add()
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      limited.invalidate()
      let port = RunLoop.Port(replying: { (_: RunLoop.Port, message: RunLoop.Message) -> RunLoop.Message? in
        note()
        return message
      })
      try loop.add(port)
      let other = TestThread { XCTAssertNil(thrown { _ = try port.sendRight.request(RunLoop.Message(id: 3)) }) }
      while calls.value < 3 { try loop.run(for: .milliseconds(1)) }
      other.join()
      XCTAssertEqual(wrong.value, 0)
    }
  }
}
