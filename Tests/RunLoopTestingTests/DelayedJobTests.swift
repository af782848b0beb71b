import RunLoopKit
import RunLoopTesting
import Testing

import class RunLoopKit.RunLoop

/// Hands the first job of a task to a loop's executor with a delay, and the others without one.
private final class Delayer: TaskExecutor, @unchecked Sendable {
  private let executor: RunLoop.Executor
  private let delay: @Sendable (UnownedJob) -> Void
  /// On one thread.
  private var hasDelayed = false

  init(_ executor: RunLoop.Executor, _ delay: @escaping @Sendable (UnownedJob) -> Void) {
    self.executor = executor
    self.delay = delay
  }

  func enqueue(_ job: consuming ExecutorJob) {
    if hasDelayed { return executor.enqueue(job) }
    hasDelayed = true
    delay(UnownedJob(job))
  }
}

/// Hands on each job of its tasks.
private final class EveryJob: TaskExecutor {
  private let handOn: @Sendable (UnownedJob) -> Void

  init(_ handOn: @escaping @Sendable (UnownedJob) -> Void) { self.handOn = handOn }

  func enqueue(_ job: consuming ExecutorJob) { handOn(UnownedJob(job)) }
}

private actor Pinned {
  nonisolated let loop: RunLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }

  init(_ loop: RunLoop) { self.loop = loop }

  /// Optimised code does not go to an actor for nothing.
  func hit() { hits += 1 }
  private var hits = 0
}

@concurrent private func anywhere() async {}

/// One that no loop knows.
private struct StrangeClock: Clock {
  let loop: RunLoop
  var minimumResolution: Duration { .nanoseconds(1) }
  var now: RunLoop.Instant { loop.clock.now }

  func sleep(until deadline: RunLoop.Instant, tolerance: Duration?) async throws {
    try await loop.clock.sleep(until: deadline, tolerance: tolerance)
  }
}

private struct BrokenClock: Clock {
  struct Failure: Error {}
  let loop: RunLoop
  var minimumResolution: Duration { .nanoseconds(1) }
  var now: RunLoop.Instant { loop.clock.now }

  func sleep(until deadline: RunLoop.Instant, tolerance: Duration?) async throws { throw Failure() }
}

/// Jobs with a date, in virtual time.
@Suite struct DelayedJobTests {
  /// What runs when, of tasks whose first job is delayed so.
  private func dates(
    _ count: Int, setUp: @escaping @Sendable (RunLoop, VirtualTime) throws -> Void = { _, _ in },
    _ enqueue: @escaping @Sendable (Int, UnownedJob, RunLoop.Executor, RunLoop) -> Void
  ) async throws -> [String] {
    let log = Log()
    try await VirtualTime.run { (time: VirtualTime) throws in
      let (loop, start) = (RunLoop.current, time.now)
      var kept: [Delayer] = []
      try setUp(loop, time)
      for index in 0..<count {
        let delayer = Delayer(loop.executor) { enqueue(index, $0, loop.executor, loop) }
        Task(executorPreference: delayer) {
          log.append("\(index) \(start.duration(to: loop.clock.now)) \(loop.isCurrent)")
        }
        kept.append(delayer)
      }
      #expect(!loop.isEmpty())
      #expect(!loop.items().contains { $0.label == "delayed job" })
      #expect(try loop.run() == .finished)
      withExtendedLifetime(kept) {}
    }
    return log.all
  }

  @Test func test_RLK_EXEC_13_jobsRunAtTheirDatesByEachClock() async throws {
    let seen = try await dates(8) { index, job, executor, loop in
      let job = ExecutorJob(job)
      let here = loop.clock.now
      switch index {
      case 0: executor.enqueue(job, after: .seconds(3600), tolerance: .zero, clock: loop.clock)
      case 1: executor.enqueue(job, after: .seconds(3), clock: loop.continuousClock)
      case 2: executor.enqueue(job, after: .seconds(2), clock: loop.wallClock)
      case 3: executor.enqueue(job, after: .seconds(1), clock: .continuous)
      case 4: executor.enqueue(job, after: .milliseconds(500), clock: .suspending)
      case 5: executor.enqueue(job, at: here.advanced(by: .seconds(4)), clock: loop.clock(in: "another mode"))
      case 6: executor.enqueue(job, after: .zero, clock: loop.clock)
      default: executor.enqueue(job, at: here.advanced(by: .seconds(-1)), clock: loop.clock)
      }
    }
    #expect(
      seen == [
        "6 0.0 seconds true", "7 0.0 seconds true", "4 0.5 seconds true", "3 1.0 seconds true", "2 2.0 seconds true",
        "1 3.0 seconds true", "5 4.0 seconds true", "0 3600.0 seconds true",
      ])
  }

  @Test func test_RLK_EXEC_13_theMachineSleepsMeanwhile() async throws {
    let seen = try await dates(
      2,
      setUp: { loop, time in
        try loop.add(RunLoop.Timer(after: .seconds(1)) { _ in time.suspend(for: .seconds(60)) })
      },
      { index, job, executor, loop in
        if index == 0 {
          executor.enqueue(ExecutorJob(job), after: .seconds(10), clock: .suspending)
        } else {
          executor.enqueue(ExecutorJob(job), after: .seconds(20), clock: .continuous)
        }
      })
    #expect(seen == ["1 1.0 seconds true", "0 10.0 seconds true"])
  }

  /// They share wakes within their tolerances, and those without one have the loop's.
  @Test func test_RLK_EXEC_13_tolerancesAreJoined() async throws {
    let seen = try await dates(4, setUp: { loop, _ in loop.defaultTimerTolerance = .seconds(8) }) {
      index, job, executor, loop in
      let job = ExecutorJob(job)
      switch index {
      case 0: executor.enqueue(job, after: .seconds(10), tolerance: .seconds(5), clock: loop.clock)
      case 1: executor.enqueue(job, after: .seconds(12), tolerance: .zero, clock: loop.clock)
      case 2: executor.enqueue(job, after: .seconds(5), clock: loop.clock)
      default: executor.enqueue(job, after: .seconds(9), tolerance: .zero, clock: loop.clock)
      }
    }
    #expect(seen == ["2 9.0 seconds true", "3 9.0 seconds true", "0 12.0 seconds true", "1 12.0 seconds true"])
  }

  @Test func test_RLK_EXEC_15_anUnknownClockSleepsForItself() async throws {
    let seen = try await dates(3) { index, job, executor, loop in
      switch index {
      case 0: executor.enqueue(ExecutorJob(job), after: .seconds(30), clock: StrangeClock(loop: loop))
      case 1:
        let instant = loop.clock.now.advanced(by: .seconds(20))
        executor.enqueue(ExecutorJob(job), at: instant, clock: StrangeClock(loop: loop))
      default: executor.enqueue(ExecutorJob(job), after: .seconds(10), clock: BrokenClock(loop: loop))
      }
    }
    #expect(seen == ["2 0.0 seconds true", "1 20.0 seconds true", "0 30.0 seconds true"])
  }

  /// The runtime brings a job back that runs on a loop, since its task prefers the other executor: it has waited. What
  /// comes from elsewhere waits.
  @Test(arguments: [false, true])
  func test_RLK_EXEC_18_aJobWaitsOnce(isStrange: Bool) async throws {
    let log = Log()
    try await VirtualTime.run { (time: VirtualTime) throws in
      let (loop, start) = (RunLoop.current, time.now)
      let (executor, actor) = (loop.executor, Pinned(loop))
      let delayer = EveryJob { job in
        if isStrange {
          executor.enqueue(ExecutorJob(job), after: .seconds(1), clock: StrangeClock(loop: loop))
        } else {
          executor.enqueue(ExecutorJob(job), after: .seconds(1), clock: loop.clock)
        }
      }
      let note: @Sendable (String) -> Void = { log.append("\($0) \(start.duration(to: loop.clock.now))") }
      Task(executorPreference: delayer) {
        note("begins")
        await anywhere()
        note("goes on")
        await actor.hit()
        note("back")
        try? await loop.clock.sleep(until: loop.clock.now.advanced(by: .seconds(10)))
        note("slept")
      }
      #expect(try loop.run(for: .seconds(100)) == .finished)
      withExtendedLifetime(delayer) {}
    }
    #expect(log.all == ["begins 1.0 seconds", "goes on 1.0 seconds", "back 2.0 seconds", "slept 13.0 seconds"])
  }

  /// The job waits in its executor's modes, whatever the clock's.
  @Test func test_RLK_EXEC_13_aDelayedJobWaitsForItsModes() async throws {
    try await VirtualTime.run { (time: VirtualTime) throws in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      let executor = loop.executor(in: "one", "two")
      let delayer = Delayer(executor) { executor.enqueue(ExecutorJob($0), after: .seconds(1), clock: loop.clock) }
      Task(executorPreference: delayer) { log.append("\(start.duration(to: loop.clock.now))") }
      time.advance(by: .seconds(5))
      #expect(try loop.run() == .finished)
      #expect(log.all == [])
      #expect(!loop.isEmpty(in: "one"))
      #expect(try loop.run(in: "two") == .finished)
      #expect(log.all == ["5.0 seconds"])
      #expect(loop.isEmpty(in: "one"))
      withExtendedLifetime(delayer) {}
    }
  }
}
