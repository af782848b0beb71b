import CTestSupport
import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// What a loop counts, and what tolerances save: in virtual time.
@Suite struct StatisticsTests {
  @Test func theLoopCountsWhatItDoes() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      #expect(loop.statistics == RunLoop.Statistics())
      loop.collectsStatistics = true
      try loop.add(
        RunLoop.Timer(fireDate: time.now.advanced(by: .seconds(1)), interval: .seconds(1)) { _ in
          time.advance(by: .milliseconds(100))
        })
      let source = RunLoop.Source { _ in }
      try loop.add(source)
      source.signal()
      try loop.perform {}
      #expect(try loop.run(for: .milliseconds(4500)) == .timedOut)
      let all = loop.statistics
      #expect(all.runs == 1 && all.timersFired == 4 && all.sourcesPerformed == 1 && all.blocksPerformed == 1)
      #expect(all.sleeps >= 5 && all.passes >= 6 && all.portCallouts == 0 && all.spuriousWakes == 0)
      #expect(all.runTime == .milliseconds(4500) && all.busyTime == .milliseconds(400))
      #expect(loop.resetStatistics() == all)
      #expect(loop.statistics == RunLoop.Statistics())
      #expect(try loop.run(for: .zero) == .timedOut)
      #expect(loop.statistics.runs == 1 && loop.statistics.passes == 1)
    }
  }

  /// Each kind of work in the figure that is its own, and twice as much after the same work.
  @Test func theDifferenceOfTwoReadingsIsWhatWasDoneInBetween() async throws {
    try await VirtualTime.run { time in
      let (loop, ends) = (RunLoop.current, makePipe())
      defer { for end in [ends.reading, ends.writing] { close(end) } }
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in }, to: "nested")
      let source = RunLoop.Source { _ in _ = try? loop.run(in: "nested", for: .zero) }
      let descriptor = try RunLoop.FileDescriptorSource(fileDescriptor: ends.reading, interest: .readable) { _, _ in
        var byte: UInt8 = 0
        _ = read(ends.reading, &byte, 1)
      }
      let port = RunLoop.Port { _, _ in }
      for item in [source, descriptor, port] as [RunLoop.Item] { try loop.add(item) }
      func work() throws {
        source.signal()
        _ = write(ends.writing, "x", 1)
        try port.sendRight.trySend(RunLoop.Message())
        for _ in 0..<3 { try loop.perform {} }
        for delay in 1...2 {
          let date = time.now.advanced(by: .seconds(delay))
          try loop.add(
            RunLoop.Timer(fireDate: date, tolerance: .seconds(3)) { _ in time.advance(by: .milliseconds(100)) })
        }
        #expect(try loop.run(for: .seconds(10)) == .timedOut)
      }
      try work()
      loop.collectsStatistics = true
      try work()
      let first = loop.statistics
      #expect(first.runs == 2 && first.sourcesPerformed == 1 && first.portCallouts == 2 && first.blocksPerformed == 3)
      #expect(first.timersFired == 2 && first.wakesSaved == 1 && first.sleeps >= 2 && first.passes >= 3)
      #expect(first.runTime == .seconds(10) && first.sleepTime == .milliseconds(9800))
      #expect(
        first.description == """
          runs 2, passes \(first.passes), sleeps \(first.sleeps) (\(first.spuriousWakes) spurious), timers 2 \
          (1 wakes saved), sources 1, ports 2, main queue 0, blocks 3, run time 10.0 seconds, of it asleep 9.8 seconds
          """)
      try work()
      #expect(loop.statistics - first == first)
    }
  }

  @Test func anotherThreadReadsWhatALoopIsDoing() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      loop.collectsStatistics = true
      let start = time.now
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(60))) { _ in })
      let other = time.start {
        time.advance(by: .seconds(7))
        let statistics = loop.statistics
        #expect(statistics.runTime == .seconds(7) && statistics.sleepTime == .seconds(7))
      }
      #expect(try loop.run() == .finished)
      #expect(loop.statistics.sleeps == 1 && loop.statistics.busyTime == .zero)
      other.join()
    }
  }

  @Test func aRunAndASleepMayBeginAtTheFirstMomentOfTheClock() async throws {
    try await VirtualTime.run(startingAt: RunLoop.Instant(nanoseconds: 0)) { time in
      let loop = RunLoop.current
      loop.collectsStatistics = true
      try loop.add(RunLoop.Timer(after: .seconds(10)) { _ in })
      let other = time.start {
        time.advance(by: .seconds(4))
        let statistics = loop.statistics
        #expect(statistics.runTime == .seconds(4) && statistics.sleepTime == .seconds(4))
      }
      #expect(try loop.run() == .finished)
      #expect(loop.statistics.runTime == .seconds(10) && loop.statistics.sleepTime == .seconds(10))
      other.join()
      time.advance(by: .seconds(1))  // both are over: nothing is counted any more
      #expect(loop.statistics.runTime == .seconds(10) && loop.statistics.sleepTime == .seconds(10))
    }
  }

  @Test func tolerancesSaveWakes() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      func sleeps(tolerance: Duration) throws -> RunLoop.Statistics {
        loop.defaultTimerTolerance = tolerance
        let start = time.now
        let timers = (0..<10).map { index in
          RunLoop.Timer(
            fireDate: start.advanced(by: .milliseconds(1000 + 7 * index)), interval: .milliseconds(500)
          ) { timer in
            let late = timer.fireDate!.duration(to: time.now)
            #expect(late >= .zero && late <= tolerance)
          }
        }
        for timer in timers { try loop.add(timer) }
        #expect(timers.allSatisfy { $0.tolerance == tolerance })
        loop.resetStatistics()
        #expect(try loop.run(until: start.advanced(by: .milliseconds(10_990))) == .timedOut)
        for timer in timers { timer.invalidate() }
        return loop.resetStatistics()
      }
      loop.collectsStatistics = true
      let (exact, tolerant) = (try sleeps(tolerance: .zero), try sleeps(tolerance: .milliseconds(100)))
      #expect(exact.timersFired == 200 && tolerant.timersFired == 200)
      #expect(exact.wakesSaved == 0 && exact.sleeps >= 200)
      #expect(tolerant.sleeps <= 22)
      #expect(tolerant.wakesSaved == 180)
      // Lateness saves nothing: all are due when a long callout is over.
      let start = time.now
      for index in 0..<10 { try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .milliseconds(index))) { _ in }) }
      let long = RunLoop.Source { _ in time.advance(by: .milliseconds(200)) }
      try loop.add(long)
      long.signal()
      #expect(try loop.run(for: .milliseconds(300)) == .timedOut)
      long.invalidate()
      let late = loop.resetStatistics()
      #expect(late.timersFired == 10 && late.wakesSaved == 0)
      // Half the interval at most (A2); what is set on the timer counts, also zero.
      let timer = RunLoop.Timer(fireDate: .distantFuture, interval: .milliseconds(50)) { _ in }
      try loop.add(timer)
      #expect(timer.tolerance == .milliseconds(25))
      timer.tolerance = .zero
      try loop.add(timer, to: .tracking)
      #expect(timer.tolerance == .zero)  // once and for all
      let own = RunLoop.Timer(fireDate: .distantFuture, tolerance: .milliseconds(1)) { _ in }
      try loop.add(own)
      #expect(own.tolerance == .milliseconds(1))
    }
  }

  @Test func anExactTimersWakeIsNotSaved() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      loop.collectsStatistics = true
      let start = time.now
      for (date, tolerance) in [(10, 100), (20, 100), (30, 0), (30, 50), (400, 0)] {
        try loop.add(
          RunLoop.Timer(fireDate: start.advanced(by: .milliseconds(date)), tolerance: .milliseconds(tolerance)) {
            timer in
            #expect(time.now == start.advanced(by: .milliseconds(max(30, date))))
          })
      }
      #expect(try loop.run() == .finished)
      #expect(loop.statistics.sleeps == 2 && loop.statistics.wakesSaved == 2)
    }
  }
}
