import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// Five services as their users would test them, in virtual time: those of docs/guide/testing.md.
@Suite struct ServiceTests {
  // MARK: Retry with backoff

  /// Tries at once, then after one second, two, four, ... at most a minute; gives up after `limit` tries.
  struct Retry: Sendable {
    let loop: RunLoop
    let limit: Int
    let attempt: @Sendable (_ number: Int) -> Bool

    func start() throws { try step(1, delay: .seconds(1)) }

    private func step(_ number: Int, delay: Duration) throws {
      guard !attempt(number), number < limit else { return }
      _ = try loop.perform(after: delay) { try? step(number + 1, delay: min(delay * 2, .seconds(60))) }
    }
  }

  @Test func retryWithBackoff() async throws {
    try await VirtualTime.run { time in
      let start = time.now
      let tries = Mutex<[Duration]>([])
      let retry = Retry(loop: .current, limit: 9) { number in
        tries.withLock { $0.append(start.duration(to: time.now)) }
        return number == 9
      }
      try retry.start()
      #expect(try RunLoop.current.run() == .finished)
      #expect(tries.withLock { $0 } == [0, 1, 3, 7, 15, 31, 63, 123, 183].map { .seconds($0) })
    }
  }

  // MARK: Debounce

  /// Calls `action` when nothing has happened for `quiet`.
  struct Debounce: Sendable {
    private let timer: RunLoop.Timer
    private let quiet: Duration

    init(_ quiet: Duration, on loop: RunLoop, action: @escaping @Sendable () -> Void) throws {
      self.quiet = quiet
      timer = RunLoop.Timer(rearmable: .distantFuture) { _ in action() }
      try loop.add(timer, to: .common)
    }

    func somethingHappened() { timer.rearm(after: quiet) }
  }

  @Test func debounce() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      let saved = Mutex<[Duration]>([])
      let debounce = try Debounce(.milliseconds(300), on: loop) {
        saved.withLock { $0.append(start.duration(to: time.now)) }
      }
      for milliseconds in [0, 100, 399, 1000] {
        _ = try loop.perform(after: .milliseconds(milliseconds)) { debounce.somethingHappened() }
      }
      #expect(try loop.run(for: .seconds(10)) == .timedOut)
      #expect(saved.withLock { $0 } == [.milliseconds(699), .milliseconds(1300)])
    }
  }

  // MARK: A watchdog thread

  /// A thread of its own that calls `bark` when a loop has not come round for `limit`.
  final class Watchdog: Sendable {
    private let thread: RunLoop.Thread
    private let observer: RunLoop.Observer

    init(of loop: RunLoop, limit: Duration, bark: @escaping @Sendable () -> Void) throws {
      let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in bark() }
      thread = RunLoop.Thread(name: "watchdog") { try $0.add(timer) }
      observer = RunLoop.Observer([.afterWaiting, .beforeWaiting]) { _, activity in
        if activity == .afterWaiting { timer.rearm(after: limit) } else { timer.disarm() }
      }
      try thread.start()
      try loop.add(observer, to: .common)
    }

    func end() throws {
      observer.invalidate()
      thread.stop()
      try thread.join()
    }
  }

  @Test func watchdog() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      let barks = Mutex<[Duration]>([])
      let watchdog = try Watchdog(of: loop, limit: .seconds(5)) {
        barks.withLock { $0.append(start.duration(to: time.now)) }
      }
      // Asleep for an hour is no hang; a callout of four seconds is none; one of twenty is.
      for (hour, work) in [(1, 4), (2, 20)] {
        _ = try loop.perform(after: .seconds(3600 * hour)) { time.advance(by: .seconds(work)) }
      }
      #expect(try loop.run(for: .seconds(3 * 3600)) == .finished)
      try watchdog.end()
      #expect(barks.withLock { $0 } == [.seconds(7205)])
    }
  }

  // MARK: Group commit

  /// Writes of all threads, stored together: at most `latency` after the first of them, or at once when `limit` wait.
  final class Writer: Sendable {
    private let loop: RunLoop
    private let timer: RunLoop.Timer
    private let latency: Duration
    private let limit: Int
    private let waiting: Mutex<[String]>
    private let store: @Sendable ([String]) -> Void

    init(
      on loop: RunLoop, latency: Duration, limit: Int, store: @escaping @Sendable ([String]) -> Void
    ) throws {
      (self.loop, self.latency, self.limit, self.store) = (loop, latency, limit, store)
      waiting = Mutex([])
      final class Owner: Sendable { let writer = Mutex<Writer?>(nil) }
      let owner = Owner()
      timer = RunLoop.Timer(rearmable: .distantFuture) { _ in owner.writer.withLock { $0 }?.commit() }
      owner.writer.withLock { $0 = self }
      try loop.add(timer)
    }

    func write(_ text: String) throws {
      let count = waiting.withLock { waiting in
        waiting.append(text)
        return waiting.count
      }
      if count == 1 { timer.rearm(after: latency) }
      if count == limit { try loop.perform { self.commit() } }
    }

    /// On the loop's thread.
    private func commit() {
      let texts = waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
      if !texts.isEmpty { store(texts) }
    }
  }

  @Test func groupCommit() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      let stored = Mutex<[String]>([])
      let writer = try Writer(on: loop, latency: .milliseconds(10), limit: 3) { texts in
        stored.withLock { $0.append("\(texts.joined(separator: "+")) at \(start.duration(to: time.now))") }
      }
      let threads = ["a", "b"].map { name in
        time.start {
          try? writer.write(name + "1")
          time.advance(by: .milliseconds(4))
          try? writer.write(name + "2")
          time.advance(by: .milliseconds(100))
          try? writer.write(name + "3")
        }
      }
      #expect(try loop.run(for: .seconds(1)) == .timedOut)
      for thread in threads { thread.join() }
      #expect(
        stored.withLock { $0 } == [
          "a1+b1+a2 at 0.004 seconds", "b2 at 0.014 seconds", "a3+b3 at 0.114 seconds",
        ])
    }
  }

  // MARK: A graceful shutdown with a deadline

  /// Jobs on a thread of their own.
  final class Worker: Sendable {
    private let thread = RunLoop.Thread(name: "worker")
    private let isLate = Atomic(false)

    init() throws { try thread.start() }

    func perform(_ job: @escaping @Sendable () -> Void) throws {
      try thread.perform { [self] in
        if !isLate.load(ordering: .relaxed) { job() }
      }
    }

    /// No more jobs are taken. Those that wait have until the deadline; the one that runs is always finished.
    /// - Returns: True if all were done.
    func shutDown(within limit: Duration) throws -> Bool {
      thread.stop(.afterDueWork)
      do {
        try thread.join(timeout: limit)
        return true
      } catch RunLoopError.timedOut {
        isLate.store(true, ordering: .relaxed)
        try thread.join()
        return false
      }
    }
  }

  @Test func gracefulShutdown() async throws {
    try await VirtualTime.run { time in
      for (jobs, isGraceful, done) in [(3, true, 3), (10, false, 6)] {
        let (start, log) = (time.now, Log())
        let worker = try Worker()
        for number in 1...jobs {
          try worker.perform {
            time.advance(by: .seconds(2))
            log.append("job \(number)")
          }
        }
        #expect(try worker.shutDown(within: .seconds(11)) == isGraceful)
        #expect(log.all == (1...done).map { "job \($0)" })
        #expect(start.duration(to: time.now) == .seconds(2 * done))
      }
    }
  }
}
