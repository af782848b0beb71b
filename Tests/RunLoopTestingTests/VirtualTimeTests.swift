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
      // On a busy machine the 2,880 callouts take their time. Nobody has slept for two days, though.
      #expect(realSeconds() - started < 3600)
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

  /// Whoever runs out of patience first would hold the turn while the other one sleeps.
  @Test func aJoinLastsAsLongAsTheThread() async throws {
    try await VirtualTime.run { time in
      let start = time.now
      let thread = time.start { time.advance(by: .seconds(86_400)) }
      thread.join()
      #expect(time.now == start.advanced(by: .seconds(86_400)))
    }
  }

  /// Among those, who has come first. The loop's thread has come last.
  @Test func atOneMomentTimersComeBeforeThoseWhoSleep() async throws {
    try await VirtualTime.run { time in
      let (loop, log, date) = (RunLoop.current, Log(), time.now.advanced(by: .seconds(1)))
      let sleepers = (1...2).map { number in
        time.start {
          time.sleep(until: date)
          log.append("sleeper \(number)")
        }
      }
      time.advance(by: .zero)  // they sleep by now
      try loop.add(RunLoop.Timer(fireDate: date) { _ in log.append("timer") })
      #expect(try loop.run() == .finished)
      for sleeper in sleepers { sleeper.join() }
      #expect(log.all == ["timer", "sleeper 1", "sleeper 2"])
    }
  }

  @Test func theDescriptionShowsMomentsToTheNanosecond() async throws {
    for seed in [nil, 3] as [UInt64?] {
      try await VirtualTime.run(startingAt: RunLoop.Instant(nanoseconds: 1_005_000_000), seed: seed) { time in
        let sleeper = time.start { time.sleep(until: RunLoop.Instant(nanoseconds: 20_000_000_007)) }
        time.advance(by: .nanoseconds(10))
        let lines = time.description.split(separator: "\n").map(String.init)
        #expect(lines.first == (seed == nil ? "  the clock shows 1.005000010 s" : "VirtualTime with seed 3"))
        #expect(lines.contains("  the clock shows 1.005000010 s"))
        let sleeping = lines.filter {
          $0.hasSuffix("waits for a moment of the clock (sleep, advance) until 20.000000007 s")
        }
        #expect(sleeping.count == 1)
        sleeper.join()
      }
    }
  }

  /// Whichever function makes it.
  @Test func aTimeIsAsItWasAskedFor() async throws {
    let (start, tick) = (RunLoop.Instant(nanoseconds: 50), Duration.nanoseconds(3))
    let wish = Wish()
    try await VirtualTime.run(startingAt: start, tick: tick, seed: 7, whenIdle: wish.whenIdle) { wish.check($0, 7) }
    func runInPlace() throws {
      try VirtualTime.run(startingAt: start, tick: tick, seed: 7, whenIdle: wish.whenIdle) { wish.check($0, 7) }
    }
    try runInPlace()
    let thread = makeThread {
      wish.check(VirtualTime.install(startingAt: start, tick: tick, whenIdle: wish.whenIdle), nil)
    }
    pthread_join(thread, nil)
  }

  /// It begins at 50, and each reading moves it by 3. When nobody can go on, the one who waits does.
  private final class Wish: Sendable {
    private let gate = Mutex<VirtualTime.Gate?>(nil)

    var whenIdle: VirtualTime.IdlePolicy { .report { [self] in gate.withLock { $0 }?.open() } }

    func check(_ time: VirtualTime, _ seed: UInt64?) {
      let (first, second) = (time.now, time.now)
      #expect(first.nanoseconds > 50 && first.nanoseconds < 100_000 && first.duration(to: second) == .nanoseconds(3))
      #expect(time.seed == seed)
      let own = time.makeGate()
      gate.withLock { $0 = own }
      #expect(own.wait())
    }
  }

  @Test func aSleepOfNothingPassesTheTurnOn() async throws {
    try await VirtualTime.run { time in
      let (start, log) = (time.now, Log())
      let sleeps: [() -> Void] = [
        { time.sleep(until: start) }, { time.sleep(until: start.advanced(by: .seconds(-1))) },
        { time.sleep(until: RunLoop.Instant(nanoseconds: 0)) }, { time.advance(by: .zero) },
        { time.advance(by: .seconds(-1)) },
      ]
      let threads = sleeps.map { sleep in
        let thread = time.start { log.append("thread") }
        sleep()
        log.append("body")
        return thread
      }
      #expect(log.all == sleeps.flatMap { _ in ["thread", "body"] })
      #expect(time.now == start)
      for thread in threads { thread.join() }
    }
  }

  /// In the order of their coming, each at its turn.
  @Test func aGateLetsAllWhoWaitGoOn() async throws {
    try await VirtualTime.run { time in
      let (gate, log) = (time.makeGate(), Log())
      let threads = (1...3).map { number in
        time.start {
          #expect(gate.wait(until: time.now.advanced(by: .seconds(60))))
          log.append("\(number)")
          time.advance(by: .zero)
          log.append("\(number) again")
        }
      }
      time.advance(by: .seconds(1))
      for _ in 1...2 { gate.open() }
      #expect(log.all == [])
      for thread in threads { thread.join() }
      #expect(log.all == ["1", "2", "3", "1 again", "2 again", "3 again"])
    }
  }

  /// It waits for something else by then.
  @Test func whoHasGivenUpAtAGateIsNotWokenByIt() async throws {
    try await VirtualTime.run { time in
      let (start, gate) = (time.now, time.makeGate())
      let opener = time.start {
        time.advance(by: .seconds(2))
        gate.open()
      }
      #expect(!gate.wait(until: start.advanced(by: .seconds(1))))
      time.advance(by: .seconds(10))
      #expect(time.now == start.advanced(by: .seconds(11)))
      opener.join()
    }
  }

  /// Before the system has made it, as often as it is tried.
  @Test func test_RLK_KERNEL_2_aThreadHasItsPlaceFromTheStart() async throws {
    for _ in 0..<20 {
      try await VirtualTime.run { time in
        let (start, log) = (time.now, Log())
        let thread = time.start { log.append("thread \(start.duration(to: time.now))") }
        time.advance(by: .seconds(1))
        log.append("body \(start.duration(to: time.now))")
        thread.join()
        #expect(log.all == ["thread 0.0 seconds", "body 1.0 seconds"])
      }
    }
  }

  /// The clock does not stop at their dates.
  @Test func timersOfALoopThatHasEndedAreGone() async throws {
    let gate = Mutex<VirtualTime.Gate?>(nil)
    try await VirtualTime.run(whenIdle: .report { gate.withLock { $0 }?.open() }) { time in
      let start = time.now
      let thread = time.start {
        let loop = RunLoop.current
        _ = try? loop.add(RunLoop.Timer(after: .seconds(3600), on: .continuous) { _ in })
        _ = try? loop.add(RunLoop.Timer(after: .seconds(7200), on: .wall) { _ in })
        _ = try? loop.run(for: .seconds(1))
      }
      thread.join()
      let opened = time.makeGate()
      gate.withLock { $0 = opened }
      opened.wait()
      #expect(time.now == start.advanced(by: .seconds(1)))
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

  /// The 64th at one moment is one too many; whoever has slept begins anew.
  @Test func whoLooksOftenAndSleepsInBetween_doesNotSpin() async throws {
    try await VirtualTime.run { time in
      var expected = time.now
      for _ in 1...3 {
        for _ in 1...63 { time.spin() }
        #expect(time.now == expected)
        time.advance(by: .seconds(1))
        expected = expected.advanced(by: .seconds(1))
      }
      let loop = RunLoop.current
      try loop.add(RunLoop.Source { _ in })
      for _ in 1...200 {
        #expect(try loop.run(for: .zero) == .timedOut)
        time.advance(by: .seconds(1))
      }
      expected = expected.advanced(by: .seconds(200))
      #expect(time.now == expected)
      for _ in 1...64 { time.spin() }
      #expect(time.now == expected.advanced(by: .microseconds(500)))
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

  /// Unless it has made a loop, which keeps the virtual one.
  @Test func whoLeavesHasTheSystemsClock() {
    func read(makesLoop: Bool) -> (moments: [UInt64], description: String) {
      let seen = Mutex<(moments: [UInt64], description: String)>(([], ""))
      let thread = makeThread {
        let time = VirtualTime.install(startingAt: RunLoop.Instant(nanoseconds: 5))
        if makesLoop { _ = RunLoop.current }
        let inside = RunLoop.Instant.now.nanoseconds
        time.leave()
        let outside = RunLoop.Instant.now.nanoseconds
        let loop = RunLoop.current
        _ = try? loop.add(RunLoop.Source { _ in })
        _ = try? loop.run(for: .nanoseconds(1))
        seen.withLock { $0 = ([inside, outside, time.now.nanoseconds], time.description) }
      }
      pthread_join(thread, nil)
      return seen.withLock { $0 }
    }
    let left = read(makesLoop: false)
    #expect(left.moments[0] == 5 && left.moments[1] > 1_000_000 && left.moments[2] == 5)
    #expect(!left.description.contains("thread"))
    let kept = read(makesLoop: true)
    #expect(kept.moments == [5, 5, 6])
    #expect(kept.description.contains("holds the turn"))
  }

  @Test func tickMovesTheClockWithEachReading() async throws {
    try await VirtualTime.run(tick: .nanoseconds(10)) { time in
      let readings = [time.now, RunLoop.Instant.now, time.now, time.now, RunLoop.Instant.now]
      #expect(readings.map { readings[0].duration(to: $0) } == (0..<5).map { .nanoseconds(10 * $0) })
    }
  }
}

private func realSeconds() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return time.tv_sec
}
