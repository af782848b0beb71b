import RunLoopKit
import Testing
import XCTest

import class RunLoopKit.RunLoop

/// Nothing of it waits for real time: a limit is there so that a hang is a failure.
struct RunUntilTests {
  private static let limit = Duration.seconds(20)

  @Test func test_RLK_UNTIL_1_theConditionIsAskedBeforeTheFirstPassAndAfterEachOne() throws {
    try onOwnThread { (loop: RunLoop) throws in
      var log: [String] = []
      try loop.assumeOnLoop { local in
        try local.observer([.entry, .beforeTimers, .exit]) { _, activity in
          log.append(activity == .beforeTimers ? "pass" : activity == .exit ? "exit" : "entry")
        }
        try local.timer(after: .zero, interval: .milliseconds(1)) { _ in log.append("timer") }
      }
      #expect(try loop.run(until: true, timeout: Self.limit) == .met)
      #expect(log == [])
      var asked = 0
      let condition = {
        asked += 1
        log.append("asked \(asked)")
        return log.count { $0 == "timer" } == 2
      }
      #expect(try loop.run(until: condition(), timeout: Self.limit) == .met)
      #expect(log.first == "asked 1")
      #expect(log.suffix(2) == ["asked \(asked)", "exit"])
      #expect(log.count { $0 == "pass" } == asked - 1)
    }
  }

  /// The mode has one event; what is asked between is asked for nothing.
  @Test func test_RLK_UNTIL_2_nothingButEventsWakesTheLoop() throws {
    try onOwnThread { (loop: RunLoop) throws in
      var (waits, asked, hasFired) = (0, 0, false)
      try loop.assumeOnLoop { local in
        try local.observer(.afterWaiting) { _, _ in waits += 1 }
        try local.timer(after: .milliseconds(20)) { _ in hasFired = true }
      }
      let condition = {
        asked += 1
        return hasFired
      }
      #expect(try loop.run(until: condition(), timeout: Self.limit) == .met)
      #expect(waits == 1)
      #expect(asked == 2)
    }
  }

  /// A run that a callout nests before the wait takes the wake.
  @Test func test_RLK_UNTIL_3_aNestedRunPassesTheWakeOn() throws {
    try onOwnThread { (loop: RunLoop) throws in
      try loop.add(RunLoop.Source { _ in })
      var (asked, isMet, hasRun) = (0, false, false)
      try loop.assumeOnLoop { local in
        try local.observer(.beforeSources) { _, _ in
          guard asked == 2, !hasRun else { return }
          hasRun = true
          isMet = true
          loop.wakeUp()
          #expect(try! loop.run(for: .zero) == .timedOut)
        }
      }
      let condition = {
        asked += 1
        if asked == 1 { loop.wakeUp() }
        return isMet
      }
      #expect(try loop.run(until: condition(), timeout: Self.limit) == .met)
      #expect(hasRun)
    }
  }

  @Test func test_RLK_UNTIL_4_aConditionThatIsTrueInTheEndIsMet() throws {
    try onOwnThread { (loop: RunLoop) throws in
      var isMet = false
      try loop.assumeOnLoop { local in
        let source = try local.source { _ in
          isMet = true
          loop.stop()
        }
        source.signal()
        #expect(try loop.run(until: isMet, timeout: .zero) == .met)
        isMet = false
        source.signal()
      }
      #expect(try loop.run(until: isMet, timeout: Self.limit) == .met)
      // The stop was this run's.
      #expect(try loop.run(for: .zero) == .timedOut)
    }
  }

  @Test func test_RLK_UNTIL_4_theAnswerSaysWhyTheRunEnded() throws {
    try onOwnThread { (loop: RunLoop) throws in
      #expect(try loop.run(until: false) == .finished)
      #expect(thrown { _ = try loop.run(until: false, in: .common) } == .commonModeNotRunnable)
      try loop.add(RunLoop.Source { _ in })
      #expect(try loop.run(until: false, timeout: .zero) == .timedOut)
      #expect(try loop.run(until: false, timeout: .milliseconds(1)) == .timedOut)
      try loop.perform { loop.stop() }
      #expect(try loop.run(until: false, timeout: Self.limit) == .stopped)
    }
  }

  @Test func test_RLK_UNTIL_5_aConditionMayRunTheLoop() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let done = Box(0)
      let condition = {
        if done.value < 2 {
          try! loop.perform { done.value += 1 }
          #expect(try! loop.run(for: .zero) != .stopped)
        }
        return done.value == 2
      }
      try loop.add(RunLoop.Source { _ in })
      try loop.perform {}
      #expect(try loop.run(until: condition(), timeout: Self.limit) == .met)
    }
  }

  /// A loop that has never run hears no wake, and `enqueue` makes none.
  @Test(arguments: [0, 1, 2]) func test_RLK_UNTIL_6_whatAQueuedBlockChangesIsNoticedWithoutASleep(nesting: Int) throws {
    for isPerform in [true, false] {
      try onOwnThread { (loop: RunLoop) throws in
        try loop.add(RunLoop.Source { _ in })
        loop.collectsStatistics = true
        var isMet = false
        func queue(_ depth: Int, on local: borrowing RunLoop.Local) throws {
          let block = {
            if depth == 0 { isMet = true } else { try! loop.assumeOnLoop { local in try queue(depth - 1, on: local) } }
          }
          if isPerform { try local.perform(block: block) } else { try local.enqueue(block: block) }
        }
        try loop.assumeOnLoop { local in try queue(nesting, on: local) }
        #expect(try loop.run(until: isMet, timeout: Self.limit) == .met)
        #expect(loop.statistics.sleeps == 0)
      }
    }
  }

  /// Blocks of another mode do not keep the loop awake.
  @Test func test_RLK_UNTIL_6_aBlockOfAnotherModeAsksForNoLook() throws {
    try onOwnThread { (loop: RunLoop) throws in
      var (asked, hasFired) = (0, false)
      try loop.enqueue(in: "other") {}
      try loop.assumeOnLoop { local in try local.timer(after: .milliseconds(20)) { _ in hasFired = true } }
      let condition = {
        asked += 1
        return hasFired
      }
      #expect(try loop.run(until: condition(), timeout: Self.limit) == .met)
      #expect(asked == 2)
    }
  }
}

final class RunUntilWakeTests: XCTestCase {
  /// The condition itself runs the loop, and that run takes the wake.
  func test_RLK_UNTIL_5_aWakeThatARunOfTheConditionTakesIsNotLost() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Source { _ in })
      let (watch, sleeps, isOver) = (Gate(), Box(false), Box(false))
      let watcher = TestThread {
        watch.wait()
        yieldUntil(loop.isWaiting || isOver.value)
        sleeps.value = !isOver.value
        loop.stop()
      }
      var (asked, isMet) = (0, false)
      let condition = {
        asked += 1
        let answer = isMet
        if asked == 2 {
          isMet = true
          loop.wakeUp()
          XCTAssertEqual(try? loop.run(for: .zero), .timedOut)
          watch.open()
        } else if asked == 1 {
          loop.wakeUp()
        }
        return answer
      }
      XCTAssertEqual(try loop.run(until: condition()), .met)
      isOver.value = true
      watcher.join()
      XCTAssertEqual(asked, 3)
      XCTAssertFalse(sleeps.value)
    }
  }

  /// The change comes behind the answer, as another thread's may: the next pass must not sleep.
  func test_RLK_UNTIL_3_aWakeBehindALookIsNotLost() {
    onThread {
      for turn in 1...3 {
        let loop = RunLoop.current
        try loop.add(RunLoop.Source { _ in })
        var (asked, isMet) = (0, false)
        let condition = {
          asked += 1
          defer {
            if asked == turn { isMet = true }
            if asked <= turn { loop.wakeUp() }
          }
          return isMet
        }
        XCTAssertEqual(try loop.run(until: condition(), timeout: .seconds(2)), .met)
        XCTAssertEqual(asked, turn + 1)
      }
    }
  }
}
