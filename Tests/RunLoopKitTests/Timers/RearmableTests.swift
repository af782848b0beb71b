import CTestSupport
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What a rearmable timer costs, and what threads may do to it. What it does in time: RunLoopTestingTests.
final class RearmableTests: XCTestCase {
  override class func setUp() { _ = CountingKernel.install }

  func test_RLK_REARM_1_pushingADateOutBehindAnotherIsNoSystemCallAndNoAllocation() throws {
    onThread {
      let loop = RunLoop.current
      let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in }
      try loop.add(RunLoop.Timer(fireDate: .now.advanced(by: .seconds(1000))) { _ in })
      try loop.add(timer)
      try loop.run(for: .zero)
      for _ in 0..<10 { timer.rearm(after: .seconds(1001)) }
      let before = test_allocations()
      let counts = CountingKernel.count { for _ in 0..<1000 { timer.rearm(after: .seconds(1001)) } }
      // Not counted under a sanitizer: both are -1.
      XCTAssertEqual(test_allocations(), before)
      XCTAssertEqual(counts, CountingKernel.Counts())
    }
  }

  /// Each of many threads arms it for now and waits for a firing that comes after that; none is lost.
  func test_RLK_REARM_2_armedByManyThreadsNoDateIsLost() {
    let (number, ready) = (Box(0), Gate())
    let fired = NSCondition()
    let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in
      fired.withLock {
        number.value += 1
        fired.broadcast()
      }
    }
    let loop = Box<RunLoop?>(nil)
    let owner = TestThread {
      loop.value = .current
      XCTAssertEqual(try? RunLoop.current.add(timer), true)
      ready.open()
      XCTAssertEqual(try? RunLoop.current.run(), .stopped)
    }
    ready.wait()
    let others = (0..<4).map { _ in
      TestThread {
        for _ in 0..<500 {
          fired.withLock {
            let before = number.value
            timer.rearm(after: .zero)
            while number.value == before {
              guard fired.wait(until: Date(timeIntervalSinceNow: 30)) else { return XCTFail("a date was lost") }
            }
          }
        }
      }
    }
    for thread in others { thread.join() }
    loop.value?.stop()
    owner.join()
    XCTAssertGreaterThanOrEqual(number.value, 500)
  }
}
