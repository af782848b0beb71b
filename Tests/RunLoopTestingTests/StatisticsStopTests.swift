import RunLoopKit
import RunLoopTesting
import Testing

/// A loop that stops counting, and starts again: in virtual time.
@Suite struct StatisticsStopTests {
  @Test func test_RLK_STAT_2_stoppedWithinACallout() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      #expect(!loop.collectsStatistics && !loop.isCounting)
      loop.collectsStatistics = true
      #expect(loop.collectsStatistics && loop.isCounting)
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(1))) { _ in loop.collectsStatistics = false })
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(2))) { _ in })
      #expect(try loop.run() == .finished)
      #expect(!loop.collectsStatistics && !loop.isCounting)
      let kept = loop.statistics
      #expect(kept.runs == 1 && kept.timersFired == 1 && kept.sleeps == 1)
      #expect(kept.runTime == .seconds(1) && kept.sleepTime == .seconds(1))
      loop.collectsStatistics = false
      #expect(loop.resetStatistics() == kept && loop.statistics == RunLoop.Statistics())
    }
  }

  @Test func test_RLK_STAT_2_theTimeBetweenIsNotCounted() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      func at(_ second: Int, _ body: @escaping @Sendable () -> Void) throws {
        try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(second))) { _ in body() })
      }
      loop.collectsStatistics = true
      try at(1) { loop.collectsStatistics = false }
      try at(3) { loop.collectsStatistics = true }
      try at(4) { time.advance(by: .milliseconds(500)) }
      try at(5) {
        loop.collectsStatistics = false
        loop.collectsStatistics = false
      }
      try at(6) {}
      #expect(try loop.run() == .finished)
      let second = loop.statistics
      #expect(second.runTime == .seconds(2) && second.sleepTime == .milliseconds(1500))
      #expect(second.runs == 0 && second.timersFired == 2 && second.sleeps == 2)
    }
  }

  @Test func test_RLK_STAT_3_theFiguresOutliveTheThread() async throws {
    try await VirtualTime.run { time in
      let start = time.now
      let thread = RunLoop.Thread(name: "counted") { loop in
        loop.collectsStatistics = true
        try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(1))) { _ in })
      }
      try thread.start()
      let loop = thread.loop!
      time.sleep(until: start.advanced(by: .seconds(2)))
      thread.stop()
      try thread.join()
      let kept = loop.statistics
      #expect(kept.timersFired == 1 && kept.runTime == .seconds(2))
      #expect(!loop.collectsStatistics && !loop.isCounting)
      #expect(loop.resetStatistics() == kept)
      #expect(loop.statistics == RunLoop.Statistics())
    }
  }

  @Test func test_RLK_STAT_2_stoppedAndStartedWithinASleep() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      loop.collectsStatistics = true
      for second in [10, 12] {
        try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(second))) { _ in })
      }
      let other = time.start {
        time.advance(by: .seconds(2))
        loop.collectsStatistics = false
        #expect(loop.statistics.runTime == .seconds(2) && loop.statistics.sleepTime == .seconds(2))
        time.advance(by: .seconds(3))
        #expect(loop.statistics.runTime == .seconds(2))
        loop.collectsStatistics = true
        time.advance(by: .seconds(1))
        #expect(loop.statistics == RunLoop.Statistics())
      }
      #expect(try loop.run() == .finished)
      let second = loop.statistics
      #expect(second.runTime == .seconds(2) && second.sleepTime == .seconds(2))
      #expect(second.sleeps == 2 && second.timersFired == 2)
      other.join()
    }
  }

  /// Whether the loop counts already or not.
  @Test func test_RLK_STAT_2_settingTheValueThatItHasChangesNothing() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      loop.collectsStatistics = true
      try loop.perform { time.advance(by: .seconds(1)) }
      try loop.run(for: .zero)
      let counted = loop.statistics
      #expect(counted.blocksPerformed == 1 && counted.runTime == .seconds(1))
      loop.collectsStatistics = true
      #expect(loop.statistics == counted)
      loop.collectsStatistics = false
      #expect(loop.statistics == counted)
      loop.collectsStatistics = false
      #expect(loop.statistics == counted)
    }
  }

  /// The run in which the timing stopped has ended since: its beginning is not that of what is counted later.
  @Test func test_RLK_STAT_2_aReporterThatComesBackCountsNothingOfTheTimeBetween() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      loop.reportSlowCallouts(longerThan: .seconds(1)) { _ in }
      try loop.perform { loop.stopReportingSlowCallouts() }
      try loop.run(for: .zero)
      loop.reportSlowCallouts(longerThan: .seconds(1)) { _ in }
      loop.collectsStatistics = true
      time.advance(by: .seconds(3))
      #expect(loop.statistics == RunLoop.Statistics())
      try loop.perform {}
      try loop.run(for: .zero)
      #expect(loop.statistics.runTime == .zero && loop.statistics.runs == 1)
    }
  }

  /// Whoever times callouts makes the loop count, too, as long as that goes on.
  @Test func test_RLK_STAT_2_aReporterThatGoesEndsTheCountingAsWell() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      loop.reportSlowCallouts(longerThan: .seconds(1)) { _ in }
      #expect(loop.isCounting && !loop.collectsStatistics)
      try loop.run(for: .zero)
      #expect(loop.statistics == RunLoop.Statistics())
      loop.stopReportingSlowCallouts()
      #expect(!loop.isCounting)
      loop.collectsStatistics = true
      loop.reportSlowCallouts(longerThan: .seconds(1)) { _ in }
      loop.collectsStatistics = false
      #expect(loop.isCounting)
      loop.stopReportingSlowCallouts()
      #expect(!loop.isCounting)
      withExtendedLifetime(time) {}
    }
  }
}
