import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// The kit's own waits in virtual time. What ends the process, or takes its standard error, has one of its own.
@Suite struct WaitTests {
  @Test func aSetUpMayAdvanceTheClock() async throws {
    try await VirtualTime.run { time in
      let start = time.now
      let thread = RunLoop.Thread(name: "slow") { _ in time.advance(by: .seconds(5)) }
      try thread.start()
      #expect(time.now == start.advanced(by: .seconds(5)))
      thread.stop()
      try thread.join()
    }
  }

  @Test func aThreadOfTheKitTakesPartFromItsStart() async throws {
    try await VirtualTime.run { time in
      let log = Log()
      let thread = RunLoop.Thread(name: "server") { _ in log.append("set up") }
      try thread.start()
      for round in 1...100 {
        try thread.perform { log.append("block \(round)") }
        // The thread could run by now, were it not for the turn.
        for _ in 0..<50 { sched_yield() }
        log.append("advance \(round)")
        time.advance(by: .seconds(1))
      }
      thread.stop()
      try thread.join()
      #expect(log.all == ["set up"] + (1...100).flatMap { ["advance \($0)", "block \($0)"] })
    }
  }

  @Test func joinTakesPartAndItsTimeoutIsVirtual() async throws {
    try await VirtualTime.run { time in
      let start = time.now
      let thread = RunLoop.Thread(name: "server")
      try thread.start()
      #expect(throws: RunLoopError.timedOut) { try thread.join(timeout: .seconds(3600)) }
      #expect(time.now == start.advanced(by: .seconds(3600)))
      try thread.perform {
        time.advance(by: .seconds(60))
        thread.stop()
      }
      try thread.join(timeout: .seconds(61))
      #expect(time.now == start.advanced(by: .seconds(3660)))
    }
  }

  /// Of a task's join, which begins while the thread is set up.
  @Test func aJoinHasOneLimitThroughAllPhases() async throws {
    try await VirtualTime.run { time in
      let (loop, start, isBegun) = (RunLoop.current, time.now, time.makeGate())
      let thread = RunLoop.Thread(name: "slow") { _ in
        isBegun.open()
        time.advance(by: .seconds(6))
      }
      let starter = time.start {
        do { try thread.start() } catch { Issue.record(error) }
      }
      #expect(isBegun.wait())
      try loop.run {
        _ = await #expect(throws: RunLoopError.timedOut) { try await thread.join(timeout: .seconds(10)) }
      }
      #expect(time.now == start.advanced(by: .seconds(10)))
      #expect(thread.isRunning)
      thread.stop()
      try loop.run { try await thread.join(timeout: .seconds(10)) }
      #expect(time.now == start.advanced(by: .seconds(10)))
      starter.join()
    }
  }

  /// A call that is over before its limit leaves no timer in the loop of the task that has made it.
  @Test func aLimitThatWasNotNeededLeavesNoTimer() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      let port = RunLoop.Port(replying: { _, message in message })
      let thread = RunLoop.Thread(name: "server") { loop in try loop.add(port) }
      try thread.start()
      let server = try #require(thread.loop)
      try loop.run(in: "private") {
        try await server.performAndWait(timeout: .seconds(3600)) {}
        try await port.sendRight.send(RunLoop.Message(), timeout: .seconds(3600))
        _ = try await port.sendRight.request(RunLoop.Message(), timeout: .seconds(3600))
        #expect(loop.nextFireDate() == nil)
        #expect(loop.nextFireDate(in: "private") == nil)
      }
      #expect(time.now == start)
      thread.stop()
      try thread.join()
    }
  }

  @Test func performAndWaitTakesPartAndItsTimeoutIsVirtual() async throws {
    try await VirtualTime.run { time in
      let start = time.now
      let thread = RunLoop.Thread(name: "server")
      try thread.start()
      let answer = try thread.loop!.performAndWait { () -> Int in
        time.advance(by: .seconds(10))
        return 7
      }
      #expect(answer == 7 && time.now == start.advanced(by: .seconds(10)))
      #expect(throws: RunLoopError.timedOut) {
        try thread.loop!.performAndWait(in: "never", timeout: .seconds(86_400)) { Issue.record("it has run") }
      }
      #expect(time.now == start.advanced(by: .seconds(86_410)))
      thread.stop()
      try thread.join()
    }
  }

  @Test func invalidateAndWaitTakesPartAndItsTimeoutIsVirtual() async throws {
    try await VirtualTime.run { time in
      let start = time.now
      let thread = RunLoop.Thread(name: "server")
      try thread.start()
      let timer = RunLoop.Timer(fireDate: start.advanced(by: .seconds(1))) { _ in time.advance(by: .seconds(100)) }
      try thread.loop!.add(timer)
      time.advance(by: .seconds(2))
      #expect(throws: RunLoopError.timedOut) { try timer.invalidateAndWait(timeout: .seconds(30)) }
      #expect(time.now == start.advanced(by: .seconds(32)))
      try timer.invalidateAndWait()
      #expect(time.now == start.advanced(by: .seconds(101)))
      thread.stop()
      try thread.join()
    }
  }

  @Test func aSendToAFullPortTakesPartAndItsDeadlineIsVirtual() async throws {
    try await VirtualTime.run { time in
      let start = time.now
      let taken = Mutex(0)
      let thread = RunLoop.Thread(name: "server")
      try thread.start()
      let port = RunLoop.Port(queueLimit: 1) { _, _ in taken.withLock { $0 += 1 } }
      try thread.loop!.add(port, to: "reading")
      let right = port.sendRight
      try right.send(RunLoop.Message(id: 1))
      #expect(throws: RunLoopError.timedOut) {
        try right.send(RunLoop.Message(id: 2), timeout: .seconds(50))
      }
      #expect(time.now == start.advanced(by: .seconds(50)))
      try thread.perform(in: .default) {
        time.advance(by: .seconds(7))
        _ = try? RunLoop.current.run(in: "reading", for: .zero)
      }
      try right.send(RunLoop.Message(id: 3), timeout: .seconds(950))
      #expect(time.now == start.advanced(by: .seconds(57)) && taken.withLock { $0 } == 1)
      thread.stop()
      try thread.join()
    }
  }

  @Test func aThreadThatTheSystemRefusesGivesItsPlaceBack() async throws {
    try await VirtualTime.run { time in
      let start = time.now
      let thread = RunLoop.Thread(name: "huge", stackSize: 1 << 46)
      #expect(throws: RunLoopError.self) { try thread.start() }
      time.advance(by: .seconds(1))
      #expect(time.now == start.advanced(by: .seconds(1)))
    }
  }

  @Test func aReportEndsNothing() async {
    await #expect(processExitsWith: .success) { try goOnAfterAReport() }
  }

  /// Not before: the machine's time that nothing goes on is measured, to the millisecond.
  @Test func aReportComesWhenThePatienceIsOver() async {
    await #expect(processExitsWith: .success) { try waitForAReport() }
  }

  @Test func whoLeavesHasTheOthersWatchForReality() async {
    await #expect(processExitsWith: .success) { try leaveOthersToReality() }
  }

  @Test func aWaitThatVirtualTimeDoesNotKnowIsSaid() async throws {
    let result = try await #require(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      try waitInAWayThatIsNotKnown()
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("VirtualTime: nothing has gone on for 2.0 seconds of the machine's time.\n"))
    #expect(text.contains("holds the turn: it runs, or waits in a way that virtual time does not know of"))
    #expect(text.contains("waits for the end of a thread (VirtualTime.Thread.join)"))
    #expect(text.contains("\"opener\""))
  }

  /// Of `run` as of `install`, for both kinds of callers.
  @Test func aRunThatIsStuckEndsTheProcess_ifThatIsAskedFor() async {
    await #expect(processExitsWith: .signal(SIGABRT)) {
      try await VirtualTime.run(whenStuck: .abort(after: .milliseconds(1))) { time in _ = time.makeGate().wait() }
    }
    await #expect(processExitsWith: .signal(SIGABRT)) { try waitInPlace() }
  }

  @Test func aPatienceMayBeOfAnyLength() async throws {
    for patience in [Duration.seconds(Int64.max), .seconds(10_000_000_000)] {
      try await VirtualTime.run(whenStuck: .abort(after: patience)) { time in
        let start = time.now
        time.start { time.advance(by: .seconds(1)) }.join()
        #expect(time.now == start.advanced(by: .seconds(1)))
      }
    }
  }

  @Test func waitsThatNobodyEndsAreSaid() async throws {
    let result = try await #require(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      try waitForNobody()
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("waits for a block's turn (performAndWait)"))
    #expect(text.contains("\"deaf\" waits for an event of its loop"))
  }

  @Test func installAfterALoopIsRefused() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      installAfterALoop()
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("this thread has made a run loop already, which keeps the system's clock and waits"))
  }
}

/// A lock that the other thread would have to release: virtual time cannot know.
private func waitInAWayThatIsNotKnown() throws {
  let time = VirtualTime.install(whenStuck: .abort(after: .seconds(2)))
  let thread = RunLoop.Thread(name: "opener")
  try thread.start()
  let gate = time.makeGate()
  // Blocks for ever with the turn, while "opener" could run.
  try thread.perform { gate.open() }
  let other = time.start {
    var semaphore = sem_t()
    sem_init(&semaphore, 0, 0)
    sem_wait(&semaphore)
  }
  other.join()
}

private func waitInPlace() throws {
  try VirtualTime.run(whenStuck: .abort(after: .milliseconds(1))) { time in _ = time.makeGate().wait() }
}

private func waitForNobody() throws {
  let time = VirtualTime.install(whenStuck: .abort(after: .seconds(2)))
  let thread = RunLoop.Thread(name: "deaf")
  try thread.start()
  try withExtendedLifetime(time) { try thread.loop!.performAndWait(in: "never") {} }
}

private func installAfterALoop() {
  _ = RunLoop.current
  _ = VirtualTime.install()
}

/// The other participant holds the turn until the text comes.
private func waitForAReport() throws {
  final class Ends: @unchecked Sendable { var pair: [Int32] = [-1, -1] }
  let (ends, began) = (Ends(), machineTime())
  pipe(&ends.pair)
  dup2(ends.pair[1], STDERR_FILENO)
  let time = VirtualTime.install(whenStuck: .report(after: .milliseconds(300)))
  let reader = time.start {
    var byte: UInt8 = 0
    precondition(read(ends.pair[0], &byte, 1) == 1)
  }
  reader.join()
  precondition(machineTime() - began >= 300_000_000)
}

private func machineTime() -> Int {
  var moment = timespec()
  clock_gettime(CLOCK_MONOTONIC, &moment)
  return moment.tv_sec * 1_000_000_000 + moment.tv_nsec
}

/// One that has had its turn leaves while the other one waits for an event from outside alone, which comes then.
private func leaveOthersToReality() throws {
  let time = VirtualTime.install(whenStuck: .abort(after: .seconds(10)))
  let loop = RunLoop.current
  let source = RunLoop.Source { _ in loop.stop() }
  try loop.add(source)
  let leaver = makeThread {
    time.enter()
    time.leave()
    source.signal()
    loop.wakeUp()
  }
  let result = try loop.run()
  precondition(result == .stopped)
  pthread_join(leaver, nil)
}

private func goOnAfterAReport() throws {
  let time = VirtualTime.install(whenStuck: .report(after: .milliseconds(50)))
  let loop = RunLoop.current
  let source = RunLoop.Source { _ in loop.stop() }
  try loop.add(source)
  final class Ends: @unchecked Sendable { var pair: [Int32] = [-1, -1] }
  let ends = Ends()
  pipe(&ends.pair)
  // What is said ends the silence of a thread that takes no part.
  dup2(ends.pair[1], STDERR_FILENO)
  let outsider = makeThread {
    var text = [UInt8](repeating: 0, count: 4096)
    let count = read(ends.pair[0], &text, text.count)
    precondition(String(decoding: text.prefix(max(0, count)), as: UTF8.self).contains("waits for an event of its loop"))
    // Once, however long it lasts.
    var more = pollfd(fd: ends.pair[0], events: Int16(POLLIN), revents: 0)
    precondition(poll(&more, 1, 300) == 0)
    source.signal()
    loop.wakeUp()
  }
  let result = try loop.run()
  precondition(result == .stopped)
  pthread_join(outsider, nil)
  precondition(time.description.contains("holds the turn"))
}
