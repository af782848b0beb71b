import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Starting, stopping and joining in all orders, by several threads at once.
final class ResidentRaceTests: XCTestCase {
  private typealias Resident = RunLoop.Thread

  func test_RLK_RESIDENT_16_whatIsAcceptedRunsBeforeAStopAfterDueWork() throws {
    for round in 0..<40 {
      let (thread, ran, accepted, begun) = (Resident(name: "due"), Box(0), Box(0), Gate())
      try thread.start()
      let callers = (0..<2).map { _ in
        TestThread {
          begun.open()
          while thrown({ try thread.perform { ran.update { $0 += 1 } } }) == nil { accepted.update { $0 += 1 } }
        }
      }
      for _ in callers { begun.wait() }
      for _ in 0..<round % 20 { sched_yield() }
      thread.stop(.afterDueWork)
      try thread.join()
      for caller in callers { caller.join() }
      XCTAssertEqual(ran.value, accepted.value)
    }
  }

  /// More address space than there is: the system makes no such thread.
  func test_RLK_RESIDENT_17_aStartThatFailsLetsThoseGoThatJoin() {
    let thread = Resident(name: "huge", stackSize: 1 << 52)
    let isOver = Box(false)
    let joiners = (0..<2).map { _ in
      TestThread { while !isOver.value { XCTAssertNil(thrown { try thread.join(timeout: .seconds(20)) }) } }
    }
    for _ in 0..<20_000 {
      guard thrownCall({ try thread.start() }) == "pthread_create" else { return XCTFail("another call has failed") }
    }
    isOver.value = true
    for joiner in joiners { joiner.join() }
    XCTAssertEqual(thrown { try thread.perform {} }, .notStarted)
  }

  func test_RLK_RESIDENT_18_aSetUpThatEndsItsThreadIsAnErrorOfStart() {
    let thread = Resident(name: "short", setUp: { _ in pthread_exit(nil) })
    XCTAssertEqual(thrown { try thread.start() }, .loopEnded)
    XCTAssertNil(thread.loop)
    XCTAssertFalse(thread.isRunning)
    XCTAssertEqual(thrown { try thread.perform {} }, .loopEnded)
    XCTAssertNil(thrown { try thread.join() })
  }

  func test_RLK_RESIDENT_19_workIsRefusedAsTooEarlyOrTakenWhileTheThreadStarts() throws {
    for _ in 0..<500 {
      let (thread, begun) = (Resident(name: "early"), Gate())
      let caller = TestThread {
        begun.open()
        while let error = thrown({ try thread.perform {} }) {
          guard error == .notStarted else { return XCTFail("\(error)") }
        }
      }
      begun.wait()
      try thread.start()
      caller.join()
      thread.stop(.now)
      try thread.join()
    }
  }

  func test_RLK_RESIDENT_20_startedStoppedAndJoinedByManyAtOnce() throws {
    for round in 0..<300 {
      let (thread, started, gate) = (Resident(name: "many"), Box(0), Gate())
      let callers = (0..<4).map { number in
        TestThread {
          gate.wait()
          for step in 0..<4 {
            switch (number + step + round) % 4 {
            case 0: if thrown({ try thread.start() }) == nil { started.update { $0 += 1 } }
            case 1: thread.stop(round % 2 == 0 ? .now : .afterDueWork)
            case 2:
              let error = thrown { try thread.join(timeout: .microseconds(50)) }
              XCTAssertTrue(error == nil || error == .timedOut)
            default: _ = thrown { try thread.perform {} }
            }
          }
        }
      }
      for _ in callers { gate.open() }
      for caller in callers { caller.join() }
      thread.stop(.now)
      try thread.join()
      XCTAssertEqual(started.value, 1)
      XCTAssertFalse(thread.isRunning)
    }
  }

  /// A handle that goes while its thread works, ends or has ended.
  func test_RLK_RESIDENT_21_handlesGoAtAnyMoment() throws {
    let (ended, count) = (Gate(), 600)
    for round in 0..<count {
      let thread = Resident(name: "dropped")
      try thread.start()
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { _, _ in ended.open() }
      try thread.loop!.add(RunLoop.Source(hooks: hooks) { _ in })
      switch round % 4 {
      case 0: thread.stop(.now)
      case 1: try thread.perform { withExtendedLifetime(thread) {} }
      case 2: try thread.perform { sched_yield() }
      default: break
      }
    }
    for _ in 0..<count { ended.wait() }
  }
}
