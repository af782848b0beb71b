import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// The clock, the participants and their turns.
@Suite struct VirtualTimeTests {
  @Test func hoursPassInNoTime() async throws {
    try await VirtualTime.run { time in
      let started = realSeconds()
      let start = time.now
      let log = Log()
      let timer = RunLoop.Timer(fireDate: start.advanced(by: .seconds(60)), interval: .seconds(60)) { _ in
        log.append("minute")
      }
      try RunLoop.current.add(timer)
      #expect(try RunLoop.current.run(for: .seconds(48 * 3600 + 1)) == .timedOut)
      #expect(log.all.count == 48 * 60)
      #expect(time.now == start.advanced(by: .seconds(48 * 3600 + 1)))
      #expect(realSeconds() - started < 30)
    }
  }

  @Test func datesAreExact() async throws {
    try await VirtualTime.run(startingAt: RunLoop.Instant(nanoseconds: 5_000_000_000)) { time in
      #expect(time.now.nanoseconds == 5_000_000_000)
      #expect(RunLoop.Instant.now == time.now)
      let fired = Mutex<[UInt64]>([])
      let timer = RunLoop.Timer(fireDate: time.now.advanced(by: .nanoseconds(1)), interval: .milliseconds(3)) { _ in
        fired.withLock { $0.append(RunLoop.Instant.now.nanoseconds - 5_000_000_000) }
      }
      try RunLoop.current.add(timer)
      try RunLoop.current.run(for: .milliseconds(7))
      #expect(fired.withLock { $0 } == [1, 3_000_001, 6_000_001])
    }
  }

  @Test func sleepServesNobodyButLetsTimersBecomeDue() async throws {
    try await VirtualTime.run { time in
      let log = Log()
      try RunLoop.current.add(RunLoop.Timer(fireDate: time.now.advanced(by: .seconds(1))) { _ in log.append("timer") })
      time.advance(by: .seconds(10))
      #expect(log.all == [])
      let before = time.now
      #expect(try RunLoop.current.run(for: .seconds(100)) == .finished)
      #expect(log.all == ["timer"])
      #expect(time.now == before)
    }
  }

  @Test func participantsTakeTurns() async throws {
    try await VirtualTime.run { time in
      let log = Log()
      let threads = (1...3).map { number in
        time.start {
          for round in 1...2 {
            log.append("\(number).\(round)")
            time.advance(by: .seconds(10 - number))
          }
        }
      }
      #expect(log.all == [])  // nobody runs before this thread blocks
      for thread in threads { thread.join() }
      #expect(log.all == ["1.1", "2.1", "3.1", "3.2", "2.2", "1.2"])
    }
  }

  @Test func joinWaitsForTheEndOfTheLoop() async throws {
    try await VirtualTime.run { time in
      let log = Log()
      let thread = time.start {
        var hooks = RunLoop.Source.Hooks()
        hooks.cancel = { _, _ in log.append("cancelled") }
        _ = try? RunLoop.current.add(RunLoop.Source(hooks: hooks) { _ in })
        log.append("leaves")
      }
      thread.join()
      #expect(log.all == ["leaves", "cancelled"])
      thread.join()
    }
  }

  @Test func gateHasADeadline() async throws {
    try await VirtualTime.run { time in
      let start = time.now
      let gate = time.makeGate()
      #expect(!gate.wait(until: start.advanced(by: .seconds(5))))
      #expect(time.now == start.advanced(by: .seconds(5)))
      let opener = time.start {
        time.advance(by: .seconds(2))
        gate.open()
      }
      #expect(gate.wait(until: start.advanced(by: .seconds(60))))
      #expect(time.now == start.advanced(by: .seconds(7)))
      #expect(gate.wait())
      opener.join()
    }
  }

  @Test func otherThreadsWakeAnIdleLoop() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let source = RunLoop.Source { _ in loop.stop() }
      try loop.add(source)
      let outsider = makeThread {
        // Asleep, it waits for reality: there is no date to which the clock could go.
        let limit = realSeconds() + 60
        while !loop.isWaiting, realSeconds() < limit { sched_yield() }
        source.signal()
        loop.wakeUp()
      }
      let start = time.now
      #expect(try loop.run() == .stopped)
      #expect(time.now == start)
      pthread_join(outsider, nil)
    }
  }

  @Test func deadlockIsReported() async throws {
    let reports = Mutex(0)
    let loop = Mutex<RunLoop?>(nil)
    let report: @Sendable () -> Void = {
      reports.withLock { $0 += 1 }
      loop.withLock { $0 }?.stop()
    }
    try await VirtualTime.run(whenIdle: .report(report)) { _ in
      let own = RunLoop.current
      loop.withLock { $0 = own }
      try own.add(RunLoop.Source { _ in })
      #expect(try own.run() == .stopped)
    }
    #expect(reports.withLock { $0 } == 1)
  }

  @Test func spinningDoesNotStopTheClock() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let start = time.now
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .milliseconds(20))) { _ in loop.stop() })
      let endless = RunLoop.Source { source in source.signal() }  // keeps the loop from ever waiting
      try loop.add(endless)
      endless.signal()
      #expect(try loop.run() == .stopped)
      #expect(start.duration(to: time.now) < .milliseconds(21))
    }
  }

  @Test func leavingPassesTheTurnOn() async throws {
    try await VirtualTime.run { time in
      let (log, meeting) = (Log(), Meeting())
      let thread = time.start {
        log.append("ran")
        meeting.arrive()
      }
      time.leave()
      meeting.awaitArrival()
      time.enter()
      thread.join()
      #expect(log.all == ["ran"])
    }
  }

  @Test func tickMovesTheClockWithEachReading() async throws {
    try await VirtualTime.run(tick: .nanoseconds(10)) { time in
      let first = time.now, second = RunLoop.Instant.now
      #expect(first.duration(to: second) == .nanoseconds(10))
    }
  }
}

private func realSeconds() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return time.tv_sec
}
