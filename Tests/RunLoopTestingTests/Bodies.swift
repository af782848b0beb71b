import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization

/// What happens in the processes of `VirtualTimeTests`. Synchronous: a loop belongs to a thread.
enum Bodies {
  final class Log: Sendable {
    private let entries = Mutex<[String]>([])

    func append(_ entry: String) { entries.withLock { $0.append(entry) } }
    var all: [String] { entries.withLock { $0 } }
  }

  static func require(_ condition: Bool, line: UInt = #line) {
    guard !condition else { return }
    print("requirement of line \(line) not met")
    exit(1)
  }

  private static func realSeconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec
  }

  static func hoursPassInNoTime() throws {
    let started = realSeconds()
    let time = VirtualTime.install()
    let start = time.now
    let log = Log()
    let timer = RunLoop.Timer(fireDate: start.advanced(by: .seconds(60)), interval: .seconds(60)) { _ in
      log.append("minute")
    }
    try RunLoop.current.add(timer)
    require(try RunLoop.current.run(for: .seconds(48 * 3600 + 1)) == .timedOut)
    require(log.all.count == 48 * 60)
    require(time.now == start.advanced(by: .seconds(48 * 3600 + 1)))
    require(realSeconds() - started < 30)
  }

  static func datesAreExact() throws {
    let time = VirtualTime.install(startingAt: RunLoop.Instant(nanoseconds: 5_000_000_000))
    require(time.now.nanoseconds == 5_000_000_000)
    require(RunLoop.Instant.now == time.now)
    let fired = Mutex<[UInt64]>([])
    let timer = RunLoop.Timer(fireDate: time.now.advanced(by: .nanoseconds(1)), interval: .milliseconds(3)) { _ in
      fired.withLock { $0.append(RunLoop.Instant.now.nanoseconds - 5_000_000_000) }
    }
    try RunLoop.current.add(timer)
    try RunLoop.current.run(for: .milliseconds(7))
    require(fired.withLock { $0 } == [1, 3_000_001, 6_000_001])
  }

  static func sleepServesNobodyButLetsTimersBecomeDue() throws {
    let time = VirtualTime.install()
    let log = Log()
    try RunLoop.current.add(RunLoop.Timer(fireDate: time.now.advanced(by: .seconds(1))) { _ in log.append("timer") })
    time.advance(by: .seconds(10))
    require(log.all == [])
    let before = time.now
    require(try RunLoop.current.run(for: .seconds(100)) == .finished)
    require(log.all == ["timer"])
    require(time.now == before)
  }

  static func participantsTakeTurns() {
    let time = VirtualTime.install()
    let log = Log()
    let threads = (1...3).map { number in
      time.start {
        for round in 1...2 {
          log.append("\(number).\(round)")
          time.advance(by: .seconds(10 - number))
        }
      }
    }
    require(log.all == [])  // nobody runs before this thread blocks
    for thread in threads { thread.join() }
    require(log.all == ["1.1", "2.1", "3.1", "3.2", "2.2", "1.2"])
  }

  static func joinWaitsForTheEndOfTheLoop() {
    let time = VirtualTime.install()
    let log = Log()
    let thread = time.start {
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { _, _ in log.append("cancelled") }
      _ = try? RunLoop.current.add(RunLoop.Source(hooks: hooks) { _ in })
      log.append("leaves")
    }
    thread.join()
    require(log.all == ["leaves", "cancelled"])
    thread.join()
  }

  static func gateHasADeadline() {
    let time = VirtualTime.install()
    let start = time.now
    let gate = time.makeGate()
    require(!gate.wait(until: start.advanced(by: .seconds(5))))
    require(time.now == start.advanced(by: .seconds(5)))
    let opener = time.start {
      time.advance(by: .seconds(2))
      gate.open()
    }
    require(gate.wait(until: start.advanced(by: .seconds(60))))
    require(time.now == start.advanced(by: .seconds(7)))
    require(gate.wait())
    opener.join()
  }

  static func otherThreadsWakeAnIdleLoop() throws {
    let time = VirtualTime.install()
    let loop = RunLoop.current
    let source = RunLoop.Source { _ in loop.stop() }
    try loop.add(source)
    let outsider = makeThread {
      usleep(20_000)
      source.signal()
      loop.wakeUp()
    }
    let start = time.now
    require(try loop.run() == .stopped)
    require(time.now == start)
    pthread_join(outsider, nil)
  }

  static func deadlockIsReported() throws {
    _ = VirtualTime.install(whenIdle: .report { exit(7) })
    try RunLoop.current.add(RunLoop.Source { _ in })
    try RunLoop.current.run()
  }

  static func spinningDoesNotStopTheClock() throws {
    let time = VirtualTime.install()
    let loop = RunLoop.current
    let start = time.now
    try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .milliseconds(20))) { _ in loop.stop() })
    let endless = RunLoop.Source { source in source.signal() }  // keeps the loop from ever waiting
    try loop.add(endless)
    endless.signal()
    require(try loop.run() == .stopped)
    require(start.duration(to: time.now) < .milliseconds(21))
  }

  static func leavingPassesTheTurnOn() {
    let time = VirtualTime.install()
    let log = Log()
    let thread = time.start { log.append("ran") }
    time.leave()
    while log.all.isEmpty { usleep(1000) }  // a wait of which virtual time knows nothing
    time.enter()
    thread.join()
    require(log.all == ["ran"])
  }

  static func tickMovesTheClockWithEachReading() {
    let time = VirtualTime.install(tick: .nanoseconds(10))
    let first = time.now, second = RunLoop.Instant.now
    require(first.duration(to: second) == .nanoseconds(10))
  }

  static func makeThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
    final class Body: Sendable {
      let run: @Sendable () -> Void
      init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    var handle = pthread_t()
    let argument = Unmanaged.passRetained(Body(body)).toOpaque()
    pthread_create(
      &handle, nil,
      { argument in
        Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
        return nil
      }, argument)
    return handle
  }
}
