import RunLoopKit
import RunLoopTesting
import Testing

import class RunLoopKit.RunLoop

/// Tasks that sleep on a loop's timers, in virtual time.
@Suite struct TaskClockTests {
  @Test func test_RLK_SLEEP_5_anHourOfSleepTakesNoTime() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      let log = try loop.run { () -> [String] in
        var log: [String] = []
        for _ in 0..<3 {
          try await Task.sleep(for: .seconds(3600), clock: loop.clock)
          log.append("\(start.duration(to: loop.clock.now))")
        }
        return log
      }
      #expect(log == ["3600.0 seconds", "7200.0 seconds", "10800.0 seconds"])
    }
  }

  /// Three tasks, one of which is cancelled by another one: the same order each time.
  @Test func tasksSleepSideBySide() async throws {
    for _ in 0..<20 {
      try await VirtualTime.run { time in
        let (loop, start, log) = (RunLoop.current, time.now, Log())
        @Sendable func note(_ text: String) { log.append("\(text) after \(start.duration(to: loop.clock.now))") }
        try loop.run {
          let long = Task(executorPreference: loop.executor) {
            do { try await Task.sleep(for: .seconds(100), clock: loop.clock) } catch { note("\(error)") }
          }
          let ticks = Task(executorPreference: loop.executor) {
            for tick in 1...3 {
              try await loop.clock.sleep(until: start.advanced(by: .seconds(2 * tick)))
              note("tick \(tick)")
            }
          }
          try await Task.sleep(for: .seconds(5), clock: loop.clock)
          long.cancel()
          await long.value
          try await ticks.value
        }
        #expect(
          log.all == [
            "tick 1 after 2.0 seconds", "tick 2 after 4.0 seconds", "CancellationError() after 5.0 seconds",
            "tick 3 after 6.0 seconds",
          ])
      }
    }
  }

  @Test func aSleepUntilTheFirstMomentOfAClockIsSoonOver() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      let task = Task(executorPreference: loop.executor) {
        try await loop.clock.sleep(until: RunLoop.Instant(nanoseconds: 0))
        try await loop.continuousClock.sleep(until: RunLoop.ContinuousInstant(nanoseconds: 0))
        try await loop.wallClock.sleep(until: RunLoop.WallInstant(nanoseconds: 0))
        log.append("over after \(start.duration(to: loop.clock.now))")
      }
      try loop.run(for: .seconds(1))
      #expect(log.all == ["over after 0.0 seconds"])
      task.cancel()
    }
  }

  @Test func test_RLK_SLEEP_1_tolerantSleepsShareAWake() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      try loop.run {
        let first = Task(executorPreference: loop.executor) {
          try await Task.sleep(until: start.advanced(by: .seconds(10)), tolerance: .seconds(5), clock: loop.clock)
          log.append("first after \(start.duration(to: loop.clock.now))")
        }
        try await Task.sleep(until: start.advanced(by: .seconds(12)), tolerance: .zero, clock: loop.clock)
        log.append("second after \(start.duration(to: loop.clock.now))")
        try await first.value
      }
      #expect(Set(log.all) == ["first after 12.0 seconds", "second after 12.0 seconds"])
    }
  }

  /// On each clock.
  @Test(arguments: RunLoop.TimerClock.allCases) func aSleepWaitsForItsMode(_ clock: RunLoop.TimerClock) async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      loop.addCommonMode("common")
      let task = Task(executorPreference: loop.executor) {
        try await Self.sleep(for: .seconds(1), by: clock, of: loop, in: "other")
        log.append("over after \(start.duration(to: loop.clock.now))")
      }
      try loop.run()  // its first job has begun the sleep
      time.advance(by: .seconds(5))
      #expect(!loop.isEmpty(in: "other"))
      for mode: RunLoop.Mode in [.default, "common"] {
        #expect(loop.isEmpty(in: mode))
        #expect(try loop.run(in: mode) == .finished)
      }
      #expect(log.all == [])
      #expect(try loop.run(in: "other") == .finished)
      #expect(try loop.run() == .finished)
      #expect(log.all == ["over after 5.0 seconds"])
      withExtendedLifetime(task) {}
    }
  }

  private static func sleep(
    for duration: Duration, tolerance: Duration? = nil, by clock: RunLoop.TimerClock, of loop: RunLoop,
    in mode: RunLoop.Mode
  ) async throws {
    switch clock {
    case .suspending: try await Task.sleep(for: duration, tolerance: tolerance, clock: loop.clock(in: mode))
    case .continuous: try await Task.sleep(for: duration, tolerance: tolerance, clock: loop.continuousClock(in: mode))
    case .wall: try await Task.sleep(for: duration, tolerance: tolerance, clock: loop.wallClock(in: mode))
    }
  }

  /// On each clock; none is the loop's default, and zero is exact.
  @Test(arguments: RunLoop.TimerClock.allCases)
  func test_RLK_SLEEP_1_theToleranceOfASleepIsItsOwn(_ clock: RunLoop.TimerClock) async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      loop.defaultTimerTolerance = .seconds(30)
      try loop.run {
        for tolerance in [nil, .zero, .seconds(7)] as [Duration?] {
          let start = loop.clock.now
          try await Self.sleep(for: .seconds(10), tolerance: tolerance, by: clock, of: loop, in: .default)
          log.append("\(start.duration(to: loop.clock.now))")
        }
      }
      #expect(log.all == ["40.0 seconds", "10.0 seconds", "17.0 seconds"])
    }
  }

  /// The properties without a mode are of the common ones.
  @Test(arguments: RunLoop.TimerClock.allCases)
  func aSleepIsOverInEachCommonMode(_ clock: RunLoop.TimerClock) async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      loop.addCommonMode("common")
      let task = Task(executorPreference: loop.executor) {
        switch clock {
        case .suspending: try await Task.sleep(for: .seconds(1), clock: loop.clock)
        case .continuous: try await Task.sleep(for: .seconds(1), clock: loop.continuousClock)
        case .wall: try await Task.sleep(for: .seconds(1), clock: loop.wallClock)
        }
        log.append("over")
      }
      _ = try loop.run(for: .zero)
      time.advance(by: .seconds(5))
      #expect(try loop.run(in: "common") == .finished)
      #expect(log.all == ["over"])
      withExtendedLifetime(task) {}
    }
  }

  @Test func test_RLK_SLEEP_4_eachClockHasItsOwnSleeps() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(1))) { _ in time.suspend(for: .seconds(60)) })
      try loop.run {
        let continuous = Task(executorPreference: loop.executor) {
          try await loop.continuousClock.sleep(until: loop.continuousClock.now.advanced(by: .seconds(10)))
          log.append("continuous after \(start.duration(to: loop.clock.now))")
        }
        let wall = Task(executorPreference: loop.executor) {
          try await loop.wallClock.sleep(until: loop.wallClock.now.advanced(by: .seconds(20)))
          log.append("wall after \(start.duration(to: loop.clock.now))")
        }
        try await Task.sleep(for: .seconds(10), clock: loop.clock)
        log.append("suspending after \(start.duration(to: loop.clock.now))")
        try await continuous.value
        try await wall.value
      }
      #expect(
        log.all == ["continuous after 1.0 seconds", "wall after 1.0 seconds", "suspending after 10.0 seconds"])
    }
  }

  @Test func test_RLK_STREAM_8_ticksKeepTheirPhase() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      let ticks = loop.clock.ticks(every: .seconds(10))
      let seen = try loop.run { () -> [String] in
        var seen: [String] = []
        for try await tick in ticks {
          seen.append("\(start.duration(to: tick.date)) \(tick.missed) at \(start.duration(to: loop.clock.now))")
          if seen.count == 2 { try await Task.sleep(for: .seconds(34), clock: loop.clock) }
          if seen.count == 4 { break }
        }
        return seen
      }
      #expect(
        seen == [
          "10.0 seconds 0 at 10.0 seconds", "20.0 seconds 0 at 20.0 seconds", "50.0 seconds 2 at 54.0 seconds",
          "60.0 seconds 0 at 60.0 seconds",
        ])
    }
  }

  /// As they are told, or as the loop's default is.
  @Test(arguments: [(nil, 5), (100, 5), (2, 2), (0, 0)] as [(Int?, Int)])
  func ticksAreLateByHalfAnIntervalAtMost(_ tolerance: Int?, _ late: Int) async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      loop.defaultTimerTolerance = .seconds(100)
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(300))) { _ in })
      let seen = try loop.run { () -> [String] in
        var seen: [String] = []
        for try await tick in loop.clock.ticks(every: .seconds(10), tolerance: tolerance.map { .seconds($0) }) {
          seen.append("\(tick.missed) at \(start.duration(to: loop.clock.now))")
          if seen.count == 3 { break }
        }
        return seen
      }
      #expect(seen == (1...3).map { "0 at \($0 * 10 + late).0 seconds" })
    }
  }

  @Test func ticksOfAnyInterval() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      try loop.run {
        var shortest = loop.clock.ticks(every: .zero).makeAsyncIterator()
        time.advance(by: .seconds(1))
        let first = try await shortest.next()
        #expect(first?.missed == 999_999_999)
        var longest = loop.clock.ticks(every: .seconds(Int64.max)).makeAsyncIterator()
        let task = Task(executorPreference: loop.executor) { try await longest.next() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
      }
    }
  }

  @Test func test_RLK_STREAM_7_theNewestActivitiesAreKept() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      var iterator = try loop.activities([.entry, .exit], in: .default, keepingNewest: 3).makeAsyncIterator()
      for _ in 0..<5 { try loop.run(for: .zero) }
      try loop.add(RunLoop.Source { _ in })
      for _ in 0..<5 { try loop.run(for: .zero) }
      let seen = try loop.run(in: "other") { () -> [RunLoop.Activity] in
        var seen: [RunLoop.Activity] = []
        for _ in 0..<3 { seen.append(try #require(await iterator.next())) }
        return seen
      }
      #expect(seen == [.exit, .entry, .exit])
      withExtendedLifetime(time) {}
    }
  }
}
