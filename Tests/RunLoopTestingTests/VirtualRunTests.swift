import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// `VirtualTime.run`, and virtual times beside each other and beside the system's clock.
@Suite struct VirtualRunTests {
  @Test func theBodyIsTheTestsTask() async throws {
    let test = Test.current
    let time = try await VirtualTime.run { time in
      #expect(Test.current == test)
      #expect(RunLoop.Instant.now == VirtualTime.defaultStart)
      let result = try RunLoop.current.run(for: .seconds(1))
      #expect(result == .finished)
      return time.now
    }
    #expect(time == VirtualTime.defaultStart)
    #expect(RunLoop.Instant.now != time)
  }

  @Test func whatTheBodyThrowsIsThrown() async throws {
    struct Fault: Error {}
    await #expect(throws: Fault.self) { try await VirtualTime.run { _ in throw Fault() } }
    #expect(throws: Fault.self) { try Self.runInPlace { _ in throw Fault() } }
  }

  private static func runInPlace<R: Sendable>(_ body: @escaping @Sendable (VirtualTime) throws -> R) throws -> R {
    try VirtualTime.run(body)
  }

  @Test func theLoopEndsWithTheBody() async throws {
    let log = Log()
    let loop = try await VirtualTime.run { _ in
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { _, _ in log.append("cancelled") }
      try RunLoop.current.add(RunLoop.Source(hooks: hooks) { _ in })
      log.append("returns")
      return RunLoop.current
    }
    #expect(log.all == ["returns", "cancelled"])
    #expect(loop.hasEnded)
  }

  /// It takes part again for that.
  @Test func theLoopOfABodyThatHasLeftEndsInTurn() async throws {
    let log = Log()
    try await VirtualTime.run { time in
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { _, _ in log.append("\(time.description.contains("holds the turn"))") }
      try RunLoop.current.add(RunLoop.Source(hooks: hooks) { _ in })
      time.leave()
    }
    #expect(log.all == ["true"])
  }

  /// Each body waits for all others, and the pool has fewer threads.
  @Test func aRunBlocksNoThreadOfThePool() async throws {
    let (count, arrived, everybody) = (40, Log(), Meeting())
    @Sendable func meet() {
      arrived.append("one more")
      if arrived.all.count == count { for _ in 1...count { everybody.arrive() } }
      everybody.awaitArrival()
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 1...count { group.addTask { try await VirtualTime.run { _ in meet() } } }
      try await group.waitForAll()
    }
    #expect(arrived.all.count == count)
  }

  /// Whichever clock the thread has that makes the timer: by the machine's, this date has passed.
  @Test func aTimerThatWasMadeOutsideFiresAtItsDate() async throws {
    let start = RunLoop.Instant(nanoseconds: 7)
    let date = start.advanced(by: .seconds(1))
    #expect(date < .now)
    let fired = FiredAt()
    let timer = RunLoop.Timer(fireDate: date) { _ in fired.note() }
    try await VirtualTime.run(startingAt: start) { _ in
      try RunLoop.current.add(timer)
      let result = try RunLoop.current.run()
      #expect(result == .finished)
    }
    #expect(fired.date == date)
  }

  /// By the virtual clock its date has passed, which is no date that the machine's has come to.
  @Test func aTimerThatWasMadeInsideIsDueOutside() async throws {
    let start = RunLoop.Instant.now.advanced(by: .seconds(3600))
    let timer = try await VirtualTime.run(startingAt: start) { time in
      let timer = RunLoop.Timer(fireDate: RunLoop.Instant(nanoseconds: 5)) { _ in }
      #expect(time.now == start)
      return timer
    }
    let outsider = makeThread { [timer] in
      _ = try? RunLoop.current.add(timer)
      _ = try? RunLoop.current.run(for: .zero)
    }
    pthread_join(outsider, nil)
    #expect(!timer.isValid)  // it has fired
  }

  private final class FiredAt: Sendable {
    private let moment = Mutex<RunLoop.Instant?>(nil)

    func note() { moment.withLock { $0 = .now } }
    var date: RunLoop.Instant? { moment.withLock { $0 } }
  }

  /// Each shows its own date, at one moment of the machine's time: none of them goes on without the other.
  @Test func twoVirtualTimesShowDifferentDates() async throws {
    let (first, second) = (Meeting(), Meeting())
    @Sendable func hours(_ count: Int64, from start: UInt64, _ own: Meeting, _ other: Meeting) async throws {
      try await VirtualTime.run(startingAt: RunLoop.Instant(nanoseconds: start)) { time in
        let loop = RunLoop.current
        let fired = Mutex<[RunLoop.Instant]>([])
        let timer = RunLoop.Timer(fireDate: time.now.advanced(by: .seconds(3600)), interval: .seconds(3600)) { _ in
          fired.withLock { $0.append(.now) }
          own.arrive()
          other.awaitArrival()  // of the machine's time: both are in their callouts
        }
        try loop.add(timer)
        #expect(try loop.run(for: .seconds(count * 3600 + 1)) == .timedOut)
        #expect(
          fired.withLock { $0.map(\.nanoseconds) } == (1...count).map { start + UInt64($0) * 3_600_000_000_000 })
        #expect(time.now.nanoseconds == start + UInt64(count * 3600 + 1) * 1_000_000_000)
      }
    }
    async let one: Void = hours(24, from: 7, first, second)
    async let two: Void = hours(24, from: 5_000_000_000_000_000, second, first)
    _ = try await (one, two)
  }

  @Test(arguments: 0..<8) func manyAtOnce(_ number: Int) async throws {
    try await VirtualTime.run { time in
      let start = time.now
      let thread = RunLoop.Thread(name: "server \(number)")
      try thread.start()
      for _ in 0..<50 {
        let moment = try #require(thread.loop).performAndWait { () -> RunLoop.Instant in
          time.advance(by: .seconds(number))
          return .now
        }
        #expect(moment == time.now)
      }
      #expect(time.now == start.advanced(by: .seconds(50 * number)))
      thread.stop()
      try thread.join()
    }
  }

  /// `start` waits, so async code cannot call it.
  private static func realThread() throws -> RunLoop.Thread {
    let thread = RunLoop.Thread(name: "real")
    try thread.start()
    return thread
  }

  /// A loop with the system's clock serves, while a virtual one beside it lets days pass; each keeps its own.
  @Test func aRealLoopBesideAVirtualOne() async throws {
    let real = try Self.realThread()
    let loop = try #require(real.loop)
    try await VirtualTime.run(startingAt: RunLoop.Instant(nanoseconds: 1 << 62)) { time in
      let start = time.now
      time.advance(by: .seconds(86_400))
      let moment = try loop.performAndWait { RunLoop.Instant.now }
      #expect(moment < start)  // no machine is up for 146 years
      // Nothing is due here: what comes from there takes no virtual time.
      let answers = Mutex(0)
      let own = RunLoop.current
      let port = RunLoop.Port { _, message in
        answers.withLock { $0 += 1 }
        if message.id == 3 { own.stop() }
      }
      try own.add(port)
      let right = port.sendRight
      for id in 1...3 { try loop.perform { try? right.send(RunLoop.Message(id: UInt32(id))) } }
      #expect(try own.run() == .stopped)
      #expect(answers.withLock { $0 } == 3)
      #expect(time.now == start.advanced(by: .seconds(86_400)))
    }
    real.stop()
    await Self.elsewhere { try? real.join() }
  }

  /// A timer that comes from a thread with another clock has its date on the loop's.
  @Test func aTimersDateIsOnItsLoopsClock() async throws {
    let real = try Self.realThread()
    let (loop, asked) = (try #require(real.loop), Meeting())
    // A virtual clock that is behind the machine's.
    try await VirtualTime.run(startingAt: RunLoop.Instant(nanoseconds: 1000)) { time in
      let (own, start, log) = (RunLoop.current, time.now, Log())
      @Sendable func note(_ name: String) { log.append("\(name) \(start.duration(to: .now) / .seconds(1))") }
      let keeper = RunLoop.Source { _ in }
      try own.add(keeper)
      let made = Mutex<RunLoop.Timer?>(nil)
      // Awaited by a semaphore, of which the virtual time does not know: its clock stands still meanwhile.
      try loop.perform { @Sendable in
        let timer = RunLoop.Timer(rearmable: start.advanced(by: .seconds(1))) { _ in note("timer") }
        #expect((try? own.add(timer)) == true)
        #expect(timer.fireDate == start.advanced(by: .seconds(1)))
        #expect(own.nextFireDate(in: .default) == start.advanced(by: .seconds(1)))
        _ = try? own.perform(after: .seconds(2)) { note("performed") }
        made.withLock { $0 = timer }
        asked.arrive()
      }
      asked.awaitArrival()
      #expect(try own.run(for: .seconds(10)) == .timedOut)
      try loop.perform { @Sendable in
        made.withLock { $0 }?.rearm(after: .seconds(5))
        asked.arrive()
      }
      asked.awaitArrival()
      #expect(try own.run(for: .seconds(10)) == .timedOut)
      #expect(log.all == ["timer 1.0", "performed 2.0", "timer 15.0"])
    }
    real.stop()
    await Self.elsewhere { try? real.join() }
  }

  /// Threads that are told to stop need no clock for that; one that nobody has told is an error, which names it.
  @Test func threadsThatAreLeftAreNamed() async throws {
    let kept = Mutex<[RunLoop.Thread]>([])
    let error = await #expect(throws: VirtualTime.ThreadsLeft.self) {
      try await VirtualTime.run { _ in
        let told = RunLoop.Thread(name: "told")
        let forgotten = RunLoop.Thread(name: "forgotten")
        try told.start()
        try forgotten.start()
        kept.withLock { $0 = [forgotten] }  // `told` goes with its last reference
      }
    }
    #expect(error?.threads.count == 1)
    #expect(error?.description.contains("\"forgotten\" waits for an event of its loop") == true)
    #expect(
      error?.description.hasPrefix("VirtualTime.run: the body has returned, and 1 of its threads still takes part: ")
        == true)
    #expect(error?.description.hasSuffix(". Stop and join what the body starts") == true)
    let thread = try #require(kept.withLock { $0.first })
    thread.stop()
    await Self.elsewhere { try? thread.join() }
  }

  /// None of them sees its date.
  @Test func theClockStandsStillForThreadsThatAreLeft() async throws {
    let kept = Mutex<(VirtualTime, VirtualTime.Gate, [VirtualTime.Thread])?>(nil)
    let log = Log()
    let error = await #expect(throws: VirtualTime.ThreadsLeft.self) {
      try await VirtualTime.run { time in
        let gate = time.makeGate()
        let threads = (1...2).map { _ in
          time.start { log.append("\(gate.wait(until: VirtualTime.defaultStart.advanced(by: .seconds(3600))))") }
        }
        kept.withLock { $0 = (time, gate, threads) }
        time.advance(by: .seconds(1))
      }
    }
    let words = " waits for a gate (Gate.wait) until 1003600.000000000 s"
    #expect(error?.threads.count == 2 && error?.threads.allSatisfy { $0.hasSuffix(words) } == true)
    let text = try #require(error?.description)
    #expect(text.hasPrefix("VirtualTime.run: the body has returned, and 2 of its threads still take part: thread "))
    #expect(text.contains("\(words); thread ") && text.hasSuffix("\(words). Stop and join what the body starts"))
    let (time, gate, threads) = try #require(kept.withLock { $0 })
    #expect(time.now == VirtualTime.defaultStart.advanced(by: .seconds(1)))
    gate.open()
    await Self.elsewhere { for thread in threads { thread.join() } }
    #expect(log.all == ["true", "true"])
    #expect(time.now == VirtualTime.defaultStart.advanced(by: .seconds(1)))
  }

  /// The body's own error tells more.
  @Test func anErrorOfTheBodyComesBeforeItsThreads() async throws {
    struct Fault: Error {}
    let kept = Mutex<RunLoop.Thread?>(nil)
    await #expect(throws: Fault.self) {
      try await VirtualTime.run { _ in
        let thread = RunLoop.Thread(name: "left")
        try thread.start()
        kept.withLock { $0 = thread }
        throw Fault()
      }
    }
    let thread = try #require(kept.withLock { $0 })
    thread.stop()
    await Self.elsewhere { try? thread.join() }
  }

  /// They are no threads that are left.
  @Test func threadsThatWaitForTheBodysLoopGoOn() async throws {
    let log = Log()
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      _ = time.start {
        do { try loop.performAndWait(in: "never") {} } catch RunLoopError.loopEnded {
          log.append("the loop has ended")
        } catch {
          log.append("\(error)")
        }
      }
      time.advance(by: .seconds(1))
      log.append("returns")
    }
    #expect(log.all == ["returns", "the loop has ended"])
  }

  @Test func aSecondVirtualTimeIsRefused() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let first = VirtualTime.install()
      withExtendedLifetime(first) { _ = VirtualTime.install() }
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("this thread takes part in another virtual time already. Use `VirtualTime.run`"))
  }

  @Test func aLoopOfAnotherClockIsRefused() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try enterWithALoopOfAnotherTime()
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("keeps the clock and the waits of another virtual time. Use `VirtualTime.run`"))
  }

  private static func elsewhere(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      let thread = makeThread {
        body()
        continuation.resume()
      }
      pthread_detach(thread)
    }
  }
}

private func enterWithALoopOfAnotherTime() throws {
  let first = VirtualTime.install()
  try RunLoop.current.run(for: .seconds(1))
  first.leave()
  _ = VirtualTime.install()
}
