import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// The pieces that any thread may use, used by several at once. For ThreadSanitizer, and for what must not be lost.
final class PatternThreadTests: XCTestCase {
  /// Runs `body` on four threads while a loop runs; the loop ends when all have.
  private func whileALoopRuns(
    _ body: @escaping (RunLoop) throws -> Void
  ) {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never(), to: .common)
      let left = Box(4)
      let threads = (0..<4).map { _ in
        TestThread {
          try? body(loop)
          let isLast = left.update {
            $0 -= 1
            return $0 == 0
          }
          if isLast { try? loop.performWhenIdle { loop.stop() } }
        }
      }
      XCTAssertEqual(try loop.run(for: .seconds(60)), .stopped)
      for thread in threads { thread.join() }
    }
  }

  func test_RLK_PATTERN_1_whatIsNeededByAnyThreadIsCommitted() {
    let (changes, seen, commit) = (Box(0), Box(0), Box<RunLoop.Commit?>(nil))
    whileALoopRuns { loop in
      commit.update { made in
        if made == nil { made = try? RunLoop.Commit(on: loop) { seen.value = changes.value } }
      }
      for _ in 0..<500 {
        changes.update { $0 += 1 }
        commit.value?.setNeeded()
      }
    }
    XCTAssertEqual(changes.value, 2000)
    XCTAssertEqual(seen.value, 2000)
  }

  func test_RLK_PATTERN_2_idleWorkOfAnyThreadRunsOnceEach() {
    let ran = Box(0)
    whileALoopRuns { loop in
      for _ in 0..<200 { try loop.performWhenIdle { ran.update { $0 += 1 } } }
    }
    XCTAssertEqual(ran.value, 800)
  }

  func test_RLK_PATTERN_3_aLinkIsPausedByAnyThread() {
    let (frames, last) = (Box(0), Box<UInt64>(0))
    let link = RunLoop.DisplayLink(rate: .init(framesPerSecond: 20_000)) { _, frame in
      frames.update { $0 += 1 }
      XCTAssertGreaterThan(frame.number, last.value)
      XCTAssertGreaterThanOrEqual(RunLoop.Instant.now, frame.timestamp)
      last.value = frame.number
    }
    whileALoopRuns { loop in
      try link.add(to: loop)
      for step in 0..<200 {
        link.isPaused = step % 2 == 0
        link.rate = .init(framesPerSecond: 20_000 + step)
      }
      while frames.value == 0 {}
    }
    XCTAssertEqual(UInt64(frames.value) + link.droppedFrames, last.value)
    link.invalidate()
  }

  func test_RLK_STAT_1_readersDisturbNobodyAndNothingIsToldTwice() {
    let (fired, taken) = (Box<UInt64>(0), Box<UInt64>(0))
    let timer = RunLoop.Timer(fireDate: .now, interval: .microseconds(50)) { _ in fired.update { $0 += 1 } }
    whileALoopRuns { loop in
      loop.collectStatistics()
      try loop.add(timer)
      // The last words, when all is over.
      try loop.add(RunLoop.Observer(.exit) { _, _ in taken.update { $0 += loop.takeStatistics().timersFired } })
      for _ in 0..<500 {
        let now = loop.statistics
        XCTAssertGreaterThanOrEqual(now.sleepTime, .zero)
        XCTAssertGreaterThanOrEqual(now.busyTime, .zero)
        XCTAssertLessThan(now.runTime, .seconds(60))
      }
      while fired.value < 20 { taken.update { $0 += loop.takeStatistics().timersFired } }
    }
    XCTAssertGreaterThanOrEqual(fired.value, 20)
    XCTAssertEqual(taken.value, fired.value)
  }

  func test_RLK_PATTERN_4_anEndedLoopRefusesAndKeepsNothing() {
    final class Token: Sendable {}
    let loops = Box<[RunLoop]>([])
    weak var token: Token?
    onThread {
      let (loop, held) = (RunLoop.current, Token())
      loops.value = [loop]
      token = held
      loop.collectStatistics()
      loop.defaultTimerTolerance = .seconds(1)
      try loop.performWhenIdle { withExtendedLifetime(held) {} }
      _ = try RunLoop.Commit(on: loop) { withExtendedLifetime(held) {} }
      try RunLoop.DisplayLink { _, _ in withExtendedLifetime(held) {} }.add(to: loop)
      try loop.add(RunLoop.Timer(fireDate: RunLoop.WallInstant.distantFuture) { _ in withExtendedLifetime(held) {} })
    }
    XCTAssertNil(token)
    let loop = loops.value[0]
    XCTAssertThrowsError(try loop.performWhenIdle {}) { XCTAssertEqual($0 as? RunLoopError, .loopEnded) }
    XCTAssertThrowsError(try RunLoop.Commit(on: loop) {}) { XCTAssertEqual($0 as? RunLoopError, .loopEnded) }
    XCTAssertThrowsError(try loop.runAllModes { true }) { XCTAssertEqual($0 as? RunLoopError, .loopEnded) }
    loop.collectStatistics()
    loop.defaultTimerTolerance = .seconds(1)
    XCTAssertEqual(loop.statistics, RunLoop.Statistics())
    XCTAssertEqual(loop.takeStatistics(), RunLoop.Statistics())
    XCTAssertEqual(loop.defaultTimerTolerance, .zero)
    XCTAssertEqual(loop.items(), [])
  }

  func test_RLK_PATTERN_5_aHostedLoopCommitsAndBecomesQuiet() {
    onThread {
      let (loop, ran, flushed) = (RunLoop.current, Box(0), Box(0))
      let commit = try RunLoop.Commit(on: loop) { flushed.value += 1 }
      // After the flush: needs another one.
      let late = RunLoop.Observer(.beforeWaiting, order: 3_000_000, repeats: false) { _, _ in commit.setNeeded() }
      try loop.add(late)
      try loop.add(RunLoop.Timer.never())
      for _ in 0..<3 { try loop.performWhenIdle { ran.update { $0 += 1 } } }
      var rounds = 0
      while try loop.prepare() {
        try loop.dispatch()
        rounds += 1
        XCTAssertLessThan(rounds, 20)
      }
      XCTAssertEqual(ran.value, 3)
      XCTAssertEqual(flushed.value, 1)
      XCTAssertFalse(commit.isNeeded)
    }
  }
}
