import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Idle work at the end of its loop, and in numbers.
final class IdleWorkTests: XCTestCase {
  /// What is refused is an error, and released by who asked; what is accepted is gone when the loop's thread is over.
  func test_RLK_IDLE_1_asTheLoopEndsItIsRefusedOrReleased() {
    let (asked, gone, kept) = (Box(0), Box(0), Box<[RunLoop]>([]))
    for round in 0..<500 {
      let (loop, isReady, mayEnd) = (Box<RunLoop?>(nil), Gate(), Gate())
      let owner = TestThread {
        loop.value = RunLoop.current
        isReady.open()
        mayEnd.wait()
      }
      isReady.wait()
      let made = loop.value!
      kept.update { $0.append(made) }  // so that nothing goes just because its loop does
      if round % 4 != 0 { try? made.performWhenIdle {} }
      mayEnd.open()
      var error: RunLoopError?
      while error == nil {
        asked.update { $0 += 1 }
        error = thrown {
          let token = Token { gone.update { $0 += 1 } }
          try made.performWhenIdle { withExtendedLifetime(token) {} }
        }
      }
      owner.join()
      XCTAssertEqual(error, .loopEnded)
      XCTAssertEqual(gone.value, asked.value)
    }
  }

  /// Run, dropped or refused: one of the three, once.
  func test_RLK_DROP_5_anIdleBlockThatWillNeverRunIsDropped() {
    let (ran, dropped, refused, thread) = (Box(0), Box<[pthread_t]>([]), Box(0), Box<pthread_t?>(nil))
    let loop = Box<RunLoop?>(nil)
    onThread {
      let own = RunLoop.current
      (loop.value, thread.value) = (own, pthread_self())
      try own.add(RunLoop.Timer.never())
      let drop: @Sendable () -> Void = { dropped.update { $0.append(pthread_self()) } }
      try own.performWhenIdle(block: { ran.value += 1 }, onDrop: drop)
      try own.performWhenIdle(
        block: {
          ran.value += 1
          try? own.performWhenIdle(block: { XCTFail("it ran") }, onDrop: drop)
          own.stop()
        }, onDrop: drop)
      try own.performWhenIdle(in: "other", block: { XCTFail("it ran") }, onDrop: drop)
      try own.run(for: .seconds(60))
      XCTAssertEqual(ran.value, 2)
      XCTAssertEqual(dropped.value.count, 0)
    }
    XCTAssertEqual(dropped.value, [thread.value!, thread.value!])
    let error = thrown {
      try loop.value!.performWhenIdle(block: { XCTFail("it ran") }, onDrop: { refused.value += 1 })
    }
    XCTAssertEqual(error, .loopEnded)
    XCTAssertEqual(refused.value, 0)
  }

  /// Also the blocks that idle blocks have queued.
  func test_RLK_IDLE_2_theEndOfTheLoopReleasesAllOnItsThread() {
    let (gone, thread) = (Box<[pthread_t]>([]), Box<pthread_t?>(nil))
    onThread {
      let loop = RunLoop.current
      thread.value = pthread_self()
      try loop.add(RunLoop.Timer.never())
      func wait(in mode: RunLoop.Mode) throws {
        let token = Token { gone.update { $0.append(pthread_self()) } }
        try loop.performWhenIdle(in: mode) {
          XCTFail("it ran")
          withExtendedLifetime(token) {}
        }
      }
      nonisolated(unsafe) let ask = wait
      try loop.performWhenIdle {
        try? ask(.default)
        try? ask("other")
        loop.stop()
      }
      try loop.run(for: .seconds(60))
      try ask("other")
    }
    XCTAssertEqual(gone.value.count, 3)
    XCTAssertTrue(gone.value.allSatisfy { pthread_equal($0, thread.value!) != 0 })
  }

  func test_RLK_IDLE_3_anObserverThatWasTakenAwayComesBack() {
    for isInvalidated in [true, false] {
      onThread {
        let (loop, ran) = (RunLoop.current, Box<[Int]>([]))
        try loop.performWhenIdle { ran.update { $0.append(1) } }
        for item in loop.items() {
          if isInvalidated { item.invalidate() } else { loop.remove(item) }
        }
        try loop.performWhenIdle {
          ran.update { $0.append(2) }
          loop.stop()
        }
        try loop.add(RunLoop.Timer.never())
        XCTAssertEqual(try loop.run(for: .seconds(60)), .stopped)
        XCTAssertEqual(ran.value, [1, 2])
      }
    }
  }

  /// By the processor's time of this thread: a hundred times as many cost no more each.
  func test_RLK_IDLE_4_aBlockCostsTheSameAmongManyOthers() {
    func cost(of count: Int, in loop: RunLoop) throws -> Double {
      for _ in 0..<count - 1 { try loop.performWhenIdle {} }
      try loop.performWhenIdle { loop.stop() }
      let start = Self.processorTime
      try loop.run()
      return (Self.processorTime - start) / Double(count)
    }
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      _ = try cost(of: 1000, in: loop)
      let few = try min(cost(of: 1000, in: loop), cost(of: 1000, in: loop))
      XCTAssertLessThan(try cost(of: 100_000, in: loop), 4 * few)
    }
  }

  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
