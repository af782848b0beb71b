import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Waiting for what was queued before.
final class BarrierTests: XCTestCase {
  func test_RLK_BARRIER_1_allBlocksBeforeHaveRun() throws {
    let thread = RunLoop.Thread(name: "barrier")
    try thread.start()
    let loop = thread.loop!
    // Queued by others, whose queueing is over.
    var seen = 0  // written by the loop's thread alone, read behind the barrier
    nonisolated(unsafe) let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    count.initialize(to: 0)
    defer { count.deallocate() }
    for round in 1...20 {
      let others = (0..<4).map { _ in
        TestThread { for _ in 0..<25 { try? loop.perform { count.pointee += 1 } } }
      }
      for other in others { other.join() }
      try loop.barrier()
      seen = count.pointee
      XCTAssertEqual(seen, round * 100)
    }
    thread.stop()
    try thread.join()
  }

  func test_RLK_BARRIER_2_whatCannotBeWaitedForIsAnError() throws {
    let own = RunLoop.current
    XCTAssertEqual(thrown { try own.barrier() }, .wouldDeadlock)
    onThread {
      XCTAssertEqual(thrown { try own.barrier(in: "BARRIER_2", timeout: .seconds(-1)) }, .timedOut)
    }
    let ended = Box<RunLoop?>(nil)
    onThread { ended.value = .current }
    XCTAssertEqual(thrown { try ended.value!.barrier() }, .loopEnded)
  }

  /// The blocks of other modes are not waited for.
  func test_RLK_BARRIER_3_itsModes() throws {
    let thread = RunLoop.Thread(name: "barrier")
    try thread.start()
    let ran = Box(0)
    try thread.loop!.perform(in: "elsewhere") { ran.value += 1 }
    try thread.loop!.perform(in: .common) { ran.value += 10 }
    try thread.loop!.barrier(in: .default, .common)
    XCTAssertEqual(ran.value, 10)
    // Whichever of them runs first.
    try thread.loop!.barrier(in: "elsewhere", "never", .default, timeout: .seconds(50))
    XCTAssertEqual(ran.value, 10)
    thread.stop()
    try thread.join()
  }
}
