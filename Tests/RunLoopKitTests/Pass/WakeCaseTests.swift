import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Wakes in crowds, and of loops that end.
final class WakeCaseTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  /// 64 threads, a million wakes, and blocks among them: a write a sleep at most, and no block is lost.
  private func storm(line: UInt = #line) {
    let (loop, ready, run) = (Box<RunLoop?>(nil), Gate(), Box(0))
    let owner = TestThread {
      loop.value = .current
      _ = try? RunLoop.current.add(RunLoop.Timer.never())
      ready.open()
      XCTAssertEqual(try? RunLoop.current.run(for: .seconds(120)), .stopped, line: line)
    }
    ready.wait()
    let target = loop.value!
    let counts = CountingKernel.count {
      let threads = (0..<64).map { _ in
        TestThread {
          for round in 0..<15_625 {
            target.wakeUp()
            if round % 250 == 0 { try? target.perform { run.value += 1 } }
          }
        }
      }
      for thread in threads { thread.join() }
      try? target.perform { target.stop() }
      owner.join()
    }
    XCTAssertEqual(run.value, 64 * 63, line: line)
    XCTAssertLessThanOrEqual(counts.writes, counts.waits + 1, line: line)
    loop.value = nil
  }

  func test_RLK_WAKE_3_aMillionWakesByManyThreads() { storm() }

  func test_RLK_WAKE_3_aMillionWakesOnOneProcessor() {
    onThread {
      // Threads inherit it.
      let processor = test_stay_on_this_processor()
      XCTAssertEqual(processor, 0)
      self.storm()
    }
  }

  /// Threads that go on waking a loop while it ends, and afterwards: nothing is written to who gets its descriptor's number.
  func test_RLK_END_13_wakesOfALoopThatEnds() {
    for _ in 0..<100 {
      let (loop, ready, isOver) = (Box<RunLoop?>(nil), Gate(), Box(false))
      let owner = TestThread {
        loop.value = .current
        _ = try? RunLoop.current.add(RunLoop.Timer.never())
        ready.open()
        _ = try? RunLoop.current.run(for: .microseconds(200))
      }
      ready.wait()
      let target = loop.value!
      let wakers = (0..<2).map { number in
        TestThread {
          while !isOver.value {
            target.wakeUp()
            if number == 0 { target.stop() } else { try? target.perform {} }
          }
        }
      }
      owner.join()
      let reused = (0..<8).map { _ in EventCounter() }
      for _ in 0..<20 {
        target.wakeUp()
        sched_yield()
      }
      isOver.value = true
      for thread in wakers { thread.join() }
      for counter in reused {
        var count: UInt64 = 0
        XCTAssertEqual(read(counter.descriptor, &count, 8), -1)
      }
      XCTAssertEqual(thrown { try target.perform {} }, .loopEnded)
    }
  }
}
