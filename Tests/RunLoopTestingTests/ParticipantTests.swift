import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// Who takes part in a virtual time, who goes on first, and what is told while nobody can.
@Suite struct ParticipantTests {
  /// Whatever it waits in first. It has had the system's clock.
  @Test func whoWaitsInAVirtualTimeTakesPart() async throws {
    let waits: [@Sendable (VirtualTime, VirtualTime.Gate) -> Void] = [
      { time, _ in time.enter() },
      { time, _ in time.sleep(until: time.now) },
      { time, _ in time.advance(by: .zero) },
      { _, gate in gate.wait() },
    ]
    for wait in waits {
      try await VirtualTime.run { time in
        let (log, gate) = (Log(), time.makeGate())
        gate.open()
        let outsider = makeThread {
          log.append("\(RunLoop.Instant.now == time.now)")
          wait(time, gate)
          log.append("\(RunLoop.Instant.now == time.now) \(time.description.contains("holds the turn"))")
        }
        time.leave()
        pthread_join(outsider, nil)
        time.enter()
        #expect(log.all == ["false", "true true"])
        #expect(time.now == VirtualTime.defaultStart)
      }
    }
  }

  @Test func twoMayJoinOneThread() async throws {
    try await VirtualTime.run { time in
      let (start, log) = (time.now, Log())
      let thread = time.start { time.advance(by: .seconds(5)) }
      let joiners = (1...2).map { number in
        time.start {
          thread.join()
          log.append("\(number) after \(start.duration(to: time.now))")
        }
      }
      for joiner in joiners { joiner.join() }
      #expect(log.all == ["1 after 5.0 seconds", "2 after 5.0 seconds"])
    }
  }

  /// Timers of three loops.
  @Test(arguments: RunLoop.TimerClock.allCases)
  func ofTimersOfOneMomentTheOneThatWasSetFirstComesFirst(_ clock: RunLoop.TimerClock) async throws {
    try await VirtualTime.run { time in
      let (start, log) = (time.now, Log())
      let threads = (1...3).map { number in
        time.start {
          let timer = RunLoop.Timer(after: .seconds(1), on: clock) { _ in
            log.append("\(number) after \(start.duration(to: time.now))")
          }
          _ = try? RunLoop.current.add(timer)
          _ = try? RunLoop.current.run()
        }
      }
      for thread in threads { thread.join() }
      #expect(log.all == (1...3).map { "\($0) after 1.0 seconds" })
    }
  }

  /// A seed chooses among it and those who have not waited. Without a seed those come first.
  @Test func whoIsWokenByADescriptorIsAmongThoseWhoCouldGoOn() async throws {
    func order(_ seed: UInt64?) async throws -> [String] {
      try await VirtualTime.run(seed: seed) { time in
        let (log, server) = (Log(), RunLoop.Thread(name: "server"))
        try server.start()
        time.advance(by: .zero)  // its loop waits by now
        let other = time.start { log.append("other") }
        try server.perform { log.append("server") }
        other.join()
        try server.loop?.performAndWait {}
        server.stop()
        try server.join()
        return log.all
      }
    }
    #expect(try await order(nil) == ["other", "server"])
    var orders: Set<[String]> = []
    for seed in 1...20 as ClosedRange<UInt64> {
      let first = try await order(seed)
      #expect(try await order(seed) == first)
      orders.insert(first)
    }
    #expect(orders == [["other", "server"], ["server", "other"]])
  }

  /// Each of them, as soon as there is one.
  @Test func eachMomentInWhichNobodyCanGoOnIsReported() async throws {
    let closed = Mutex<VirtualTime.Gate?>(nil)
    let reports = Mutex(0)
    let report: @Sendable () -> Void = {
      reports.withLock { $0 += 1 }
      closed.withLock { $0.take() }?.open()
    }
    try await VirtualTime.run(whenIdle: .report(report)) { time in
      for count in 1...3 {
        let gate = time.makeGate()
        closed.withLock { $0 = gate }
        #expect(gate.wait())
        #expect(reports.withLock { $0 } == count)
        time.advance(by: .seconds(1))
      }
    }
    #expect(reports.withLock { $0 } == 3)
  }

  /// A thread that takes no part sets it, while all others wait for reality.
  @Test(arguments: RunLoop.TimerClock.allCases)
  func aDateThatAnotherThreadSetsIsComeTo(_ clock: RunLoop.TimerClock) async throws {
    let isIdle = Atomic(false)
    let report: @Sendable () -> Void = { isIdle.store(true, ordering: .releasing) }
    try await VirtualTime.run(whenIdle: .report(report), whenStuck: .report(after: .seconds(3600))) { time in
      let (loop, start, waiting) = (RunLoop.current, time.now, callingThread())
      let timer = RunLoop.Timer(rearmableOn: clock) { timer in timer.invalidate() }
      try loop.add(timer)
      let outsider = makeThread {
        while !isIdle.load(ordering: .acquiring) || !isAsleep(waiting) { sched_yield() }
        timer.rearm(after: .seconds(5))
      }
      #expect(try loop.run() == .finished)
      #expect(time.now == start.advanced(by: .seconds(5)))
      pthread_join(outsider, nil)
    }
  }

  @Test func theDescriptionShowsWhatEachParticipantDoes() async throws {
    try await VirtualTime.run { time in
      let gate = time.makeGate()
      let waiting = time.start { gate.wait() }
      time.advance(by: .zero)
      let next = time.start { gate.open() }
      let lines = time.description.split(separator: "\n").map(String.init)
      #expect(lines.count == 4)
      #expect(lines[1].contains(" holds the turn: it runs, or waits in a way that virtual time does not know of"))
      #expect(lines[2].hasSuffix(" waits for a gate (Gate.wait)"))
      #expect(lines[3].hasSuffix(" could run, and waits for its turn"))
      for thread in [waiting, next] { thread.join() }
    }
  }

  /// Whoever polls a loop again and again until something is due gets to that moment, with and without a descriptor that
  /// is looked at.
  @Test(arguments: [false, true]) func pollingDoesNotStopTheClock(watches: Bool) async throws {
    try await VirtualTime.run { time in
      let (loop, start, ends) = (RunLoop.current, time.now, makePipe())
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: ends.reading, interest: .readable) { _, _ in }
      if watches { try loop.add(source) }
      let timer = RunLoop.Timer(fireDate: start.advanced(by: .milliseconds(2))) { _ in }
      try loop.add(timer)
      var polls = 0
      while timer.isValid, polls < 100_000 {
        try loop.run(for: .zero)
        polls += 1
      }
      #expect(!timer.isValid)
      #expect(start.duration(to: time.now) <= .microseconds(2500))
      source.invalidate()
      for end in [ends.reading, ends.writing] { close(end) }
    }
  }
}
