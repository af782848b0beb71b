import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// The pieces that any thread may use, used by several at once. For ThreadSanitizer, and for what must not be lost.
final class PatternThreadTests: XCTestCase {
  /// Runs `body` on four threads while a loop runs; the loop ends when all have. With `isNeverIdle` it does not wait
  /// for an idle moment: on a slow machine, a timer of 50 microseconds leaves none.
  private func whileALoopRuns(
    isNeverIdle: Bool = false, _ body: @escaping (RunLoop) throws -> Void
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
          guard isLast else { return }
          if isNeverIdle { loop.stop() } else { try? loop.performWhenIdle { loop.stop() } }
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

  /// Readiness in the order of `counters`: the flush has its place behind what was ready when it became needed.
  func test_RLK_PATTERN_6_afterReadyIsBehindAllThatWasReadyAndBeforeWhatComesLater() {
    onThread {
      let (loop, log) = (RunLoop.current, Box<[String]>([]))
      loop.defaultTimerTolerance = .seconds(5)
      let counters = (0..<6).map { _ in EventCounter() }
      let commit = try RunLoop.Commit(on: loop, at: .afterReady) { log.update { $0.append("flush") } }
      for (index, counter) in counters.enumerated() {
        try loop.add(
          PortSourceFactory.make(counter) {
            log.update { $0.append("\(index)") }
            if index == 0 { counters[4].add() }
            commit.setNeeded()
            if index == 0 { counters[5].add() }
          })
      }
      let waits = Box(0)
      try loop.add(RunLoop.Observer(.beforeWaiting) { _, _ in waits.value += 1 })
      for index in 0..<4 { counters[index].add() }
      XCTAssertEqual(try loop.run(for: .milliseconds(20)), .timedOut)
      XCTAssertEqual(log.value, ["0", "1", "2", "3", "4", "flush", "5", "flush"])
      // One before each of them, which is why before-waiting is no such moment.
      XCTAssertGreaterThanOrEqual(waits.value, 6)
      withExtendedLifetime(counters) {}
    }
  }

  func test_RLK_PATTERN_7_afterReadyKeepsWhatACommitPromises() {
    onThread {
      let (loop, flushes) = (RunLoop.current, Box(0))
      let commit = try RunLoop.Commit(on: loop, at: .afterReady) { flushes.value += 1 }
      XCTAssertTrue(commit.isValid)
      commit.setNeeded()
      XCTAssertTrue(commit.isNeeded)
      XCTAssertTrue(try commit.flush())
      XCTAssertFalse(try commit.flush())
      try loop.run(for: .milliseconds(2))
      XCTAssertEqual(flushes.value, 1)
      // When a run ends, too.
      try loop.perform {
        commit.setNeeded()
        loop.stop()
      }
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      XCTAssertEqual(flushes.value, 2)
      commit.setNeeded()
      commit.invalidate()
      XCTAssertFalse(commit.isValid)
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
      XCTAssertEqual(flushes.value, 2)
    }
    // By another thread, of a sleeping loop; and from within the flush.
    let (loop, asleep, flushed) = (Box<RunLoop?>(nil), Gate(), Box(0))
    let commit = Box<RunLoop.Commit?>(nil)
    let owner = TestThread {
      loop.value = .current
      commit.value = try? RunLoop.Commit(on: .current, at: .afterReady) {
        flushed.value += 1
        if flushed.value == 1 { commit.value?.setNeeded() } else { RunLoop.current.stop() }
      }
      _ = try? RunLoop.current.add(RunLoop.Observer(.beforeWaiting) { _, _ in asleep.open() })
      XCTAssertEqual(try? RunLoop.current.run(for: .seconds(30)), .stopped)
    }
    asleep.wait()
    commit.value?.setNeeded()
    owner.join()
    XCTAssertEqual(flushed.value, 2)
    commit.value = nil
  }

  /// By the items that it has in its loop, whoever makes it.
  func test_RLK_PATTERN_7_theOptionsOfACommit() {
    typealias Make = (RunLoop.Mode, RunLoop.Commit.Moment, Int) throws -> RunLoop.Commit
    onThread {
      let loop = RunLoop.current
      let makers: [Make] = [
        { mode, moment, order in try RunLoop.Commit(on: loop, in: mode, at: moment, order: order) {} },
        { mode, moment, order in
          try loop.assumeOnLoop { local in try local.commit(in: mode, at: moment, order: order) {} }
        },
      ]
      for make in makers {
        for moment in [RunLoop.Commit.Moment.beforeWaiting, .afterReady] {
          let commit = try make("other", moment, 7)
          let items = loop.items(in: "other")
          let observers = items.compactMap { $0 as? RunLoop.Observer }
          XCTAssertEqual(observers.map(\.order), [7])
          XCTAssertEqual(observers.map(\.activities), [moment == .afterReady ? .exit : [.beforeWaiting, .exit]])
          XCTAssertEqual(items.contains { $0 is RunLoop.Timer }, moment == .afterReady)
          XCTAssertEqual(loop.items(in: .default), [])
          commit.invalidate()
          XCTAssertEqual(loop.items(), [])
        }
      }
    }
  }

  /// The mode cannot hold its timer: no observer is left that would hold what the flush captures.
  func test_RLK_PATTERN_8_aCommitThatIsRefusedLeavesNothing() {
    CountingKernel.install()
    defer { Kernel.leave() }
    onThread {
      let (loop, flushes) = (RunLoop.current, Box(0))
      func make() throws -> RunLoop.Commit {
        try RunLoop.Commit(on: loop, in: .default, at: .afterReady) { flushes.value += 1 }
      }
      Faults.planMemory()
      XCTAssertEqual(thrown { try make() }, .system(ENOMEM))
      XCTAssertTrue(Faults.endMemory())
      XCTAssertEqual(loop.items(), [])
      XCTAssertTrue(try make().isValid)
      XCTAssertEqual(loop.items().count, 2)
    }
  }

  func test_RLK_PATTERN_2_idleWorkOfAnyThreadRunsOnceEach() {
    let ran = Box(0)
    whileALoopRuns { loop in
      for _ in 0..<200 { try loop.performWhenIdle { ran.update { $0 += 1 } } }
    }
    XCTAssertEqual(ran.value, 800)
  }

  func test_RLK_PATTERN_3_aLinkIsPausedByAnyThread() {
    let (frames, last) = (Box(0), Box(0))
    let link = RunLoop.DisplayLink(rate: .init(frames: 20_000)) { _, frame in
      frames.update { $0 += 1 }
      XCTAssertGreaterThan(frame.number, last.value)
      XCTAssertGreaterThanOrEqual(RunLoop.Instant.now, frame.timestamp)
      last.value = frame.number
    }
    whileALoopRuns(isNeverIdle: true) { loop in
      try link.add(to: loop)
      for step in 0..<200 {
        link.isPaused = step % 2 == 0
        link.rate = .init(frames: 20_000 + step)
      }
      yieldUntil(frames.value > 0)
    }
    XCTAssertEqual(frames.value + link.droppedFrames, last.value)
    link.invalidate()
  }

  func test_RLK_STAT_1_readersDisturbNobodyAndNothingIsToldTwice() {
    let (fired, taken) = (Box(0), Box(0))
    let timer = RunLoop.Timer(fireDate: .now, interval: .microseconds(50)) { _ in fired.update { $0 += 1 } }
    whileALoopRuns(isNeverIdle: true) { loop in
      loop.collectsStatistics = true
      try loop.add(timer)
      // The last words, when all is over.
      try loop.add(RunLoop.Observer(.exit) { _, _ in taken.update { $0 += loop.resetStatistics().timersFired } })
      for _ in 0..<500 {
        let now = loop.statistics
        XCTAssertGreaterThanOrEqual(now.sleepTime, .zero)
        XCTAssertGreaterThanOrEqual(now.busyTime, .zero)
        XCTAssertLessThan(now.runTime, .seconds(60))
      }
      while fired.value < 20 { taken.update { $0 += loop.resetStatistics().timersFired } }
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
      loop.collectsStatistics = true
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
    loop.collectsStatistics = true
    loop.defaultTimerTolerance = .seconds(1)
    XCTAssertEqual(loop.statistics, RunLoop.Statistics())
    XCTAssertEqual(loop.resetStatistics(), RunLoop.Statistics())
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
      while try loop.prepareToWait() {
        try loop.runPendingWork()
        rounds += 1
        XCTAssertLessThan(rounds, 20)
      }
      XCTAssertEqual(ran.value, 3)
      XCTAssertEqual(flushed.value, 1)
      XCTAssertFalse(commit.isNeeded)
    }
  }
}
