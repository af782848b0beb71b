import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization

/// What happens in the processes of `WaitTests`.
enum WaitBodies {
  private static func require(_ condition: Bool, line: UInt = #line) { Bodies.require(condition, line: line) }

  static func aSetUpMayAdvanceTheClock() throws {
    let time = VirtualTime.install()
    let start = time.now
    let thread = RunLoop.Thread(name: "slow") { _ in time.advance(by: .seconds(5)) }
    try thread.start()
    require(time.now == start.advanced(by: .seconds(5)))
    thread.stop()
    try thread.join()
  }

  static func aThreadOfTheKitTakesPartFromItsStart() throws {
    let time = VirtualTime.install()
    let log = Bodies.Log()
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
    require(log.all == ["set up"] + (1...100).flatMap { ["advance \($0)", "block \($0)"] })
  }

  static func joinTakesPartAndItsTimeoutIsVirtual() throws {
    let time = VirtualTime.install()
    let start = time.now
    let thread = RunLoop.Thread(name: "server")
    try thread.start()
    do {
      try thread.join(timeout: .seconds(3600))
      require(false)
    } catch { require(error == .timedOut) }
    require(time.now == start.advanced(by: .seconds(3600)))
    try thread.perform {
      time.advance(by: .seconds(60))
      thread.stop()
    }
    try thread.join(timeout: .seconds(61))
    require(time.now == start.advanced(by: .seconds(3660)))
  }

  static func performAndWaitTakesPartAndItsTimeoutIsVirtual() throws {
    let time = VirtualTime.install()
    let start = time.now
    let thread = RunLoop.Thread(name: "server")
    try thread.start()
    let answer = try thread.loop!.performAndWait { () -> Int in
      time.advance(by: .seconds(10))
      return 7
    }
    require(answer == 7 && time.now == start.advanced(by: .seconds(10)))
    do {
      try thread.loop!.performAndWait(in: ["never"], timeout: .seconds(86_400)) { require(false) }
      require(false)
    } catch { require(error == .timedOut) }
    require(time.now == start.advanced(by: .seconds(86_410)))
    thread.stop()
    try thread.join()
  }

  static func invalidateAndWaitTakesPartAndItsTimeoutIsVirtual() throws {
    let time = VirtualTime.install()
    let start = time.now
    let thread = RunLoop.Thread(name: "server")
    try thread.start()
    let timer = RunLoop.Timer(fireDate: start.advanced(by: .seconds(1))) { _ in time.advance(by: .seconds(100)) }
    try thread.loop!.add(timer)
    time.advance(by: .seconds(2))
    do {
      try timer.invalidateAndWait(timeout: .seconds(30))
      require(false)
    } catch { require(error == .timedOut) }
    require(time.now == start.advanced(by: .seconds(32)))
    try timer.invalidateAndWait()
    require(time.now == start.advanced(by: .seconds(101)))
    thread.stop()
    try thread.join()
  }

  static func aSendToAFullPortTakesPartAndItsDeadlineIsVirtual() throws {
    let time = VirtualTime.install()
    let start = time.now
    let taken = Mutex(0)
    let thread = RunLoop.Thread(name: "server")
    try thread.start()
    let port = RunLoop.Port(queueLimit: 1) { _, _ in taken.withLock { $0 += 1 } }
    try thread.loop!.add(port, to: "reading")
    let right = port.sendRight
    try right.send(RunLoop.Message(id: 1))
    do {
      try right.send(RunLoop.Message(id: 2), before: start.advanced(by: .seconds(50)))
      require(false)
    } catch { require(error == .timedOut) }
    require(time.now == start.advanced(by: .seconds(50)))
    try thread.perform(in: .default) {
      time.advance(by: .seconds(7))
      _ = try? RunLoop.current.run(in: "reading", for: .zero)
    }
    try right.send(RunLoop.Message(id: 3), before: start.advanced(by: .seconds(1000)))
    require(time.now == start.advanced(by: .seconds(57)) && taken.withLock { $0 } == 1)
    thread.stop()
    try thread.join()
  }

  static func aThreadThatTheSystemRefusesGivesItsPlaceBack() throws {
    let time = VirtualTime.install()
    let start = time.now
    let thread = RunLoop.Thread(name: "huge", stackSize: 1 << 46)
    do {
      try thread.start()
      require(false)
    } catch {}
    time.advance(by: .seconds(1))
    require(time.now == start.advanced(by: .seconds(1)))
  }

  /// A lock that the other thread would have to release: virtual time cannot know.
  static func aWaitThatVirtualTimeDoesNotKnowIsSaid() throws {
    let time = VirtualTime.install(whenStuck: .abort(after: .milliseconds(200)))
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

  static func waitsThatNobodyEndsAreSaid() throws {
    let time = VirtualTime.install(whenStuck: .abort(after: .milliseconds(200)))
    let thread = RunLoop.Thread(name: "deaf")
    try thread.start()
    try withExtendedLifetime(time) { try thread.loop!.performAndWait(in: ["never"]) {} }
  }

  static func aReportEndsNothing() throws {
    let time = VirtualTime.install(whenStuck: .report(after: .milliseconds(50)))
    let loop = RunLoop.current
    let source = RunLoop.Source { _ in loop.stop() }
    try loop.add(source)
    final class Ends: @unchecked Sendable { var pair: [Int32] = [-1, -1] }
    let ends = Ends()
    pipe(&ends.pair)
    // What is said ends the silence of a thread that takes no part.
    dup2(ends.pair[1], STDERR_FILENO)
    let outsider = Bodies.makeThread {
      var text = [UInt8](repeating: 0, count: 4096)
      let count = read(ends.pair[0], &text, text.count)
      require(String(decoding: text.prefix(max(0, count)), as: UTF8.self).contains("waits for an event of its loop"))
      source.signal()
      loop.wakeUp()
    }
    require(try loop.run() == .stopped)
    pthread_join(outsider, nil)
    require(time.description.contains("holds the turn"))
  }

  static func installAfterALoopIsRefused() {
    _ = RunLoop.current
    _ = VirtualTime.install()
  }
}
