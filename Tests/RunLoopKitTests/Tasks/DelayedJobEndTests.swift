import RunLoopKit
import RunLoopTestSupport
import Synchronization
import Testing

import class RunLoopKit.RunLoop

/// Hands the first job of a task to an executor with a delay, and the others without one.
final class Delayer: TaskExecutor {
  let executor: RunLoop.Executor
  let delay: Duration
  let clock: any Clock<Duration>
  private let hasDelayed = Atomic<Bool>(false)

  init(_ executor: RunLoop.Executor, after delay: Duration, by clock: any Clock<Duration>) {
    self.executor = executor
    self.delay = delay
    self.clock = clock
  }

  func enqueue(_ job: consuming ExecutorJob) {
    if hasDelayed.exchange(true, ordering: .relaxed) { return executor.enqueue(job) }
    delay(UnownedJob(job), by: clock)
  }

  private func delay(_ job: UnownedJob, by clock: some Clock<Duration>) {
    executor.enqueue(ExecutorJob(job), after: delay, clock: clock)
  }
}

/// Where it runs, and how long after `start`.
private struct Place: Sendable {
  let thread: String
  let elapsed: Duration
}

private func place(on delayer: Delayer) -> Task<Place, Never> {
  let start = SuspendingClock.now
  return Task(executorPreference: delayer) {
    Place(thread: nameOfThread(), elapsed: start.duration(to: .now))
  }
}

/// Delayed jobs whose loop ends first, each test in a process of its own: all jobs of ended loops share a thread, and a
/// test that ends that thread hides what others would find.
@Suite struct DelayedJobEndTests {
  @Test func test_RLK_EXEC_14_jobsRunAtTheirDatesAfterTheEnd() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      var tasks: [Task<Place, Never>] = []
      var kept: [Delayer] = []
      let ended = Box<RunLoop?>(nil)
      try onOwnThread { (loop: RunLoop) in ended.value = loop }
      let thread = RunLoop.Thread(name: "delays")
      try await thread.start()
      let loop = try #require(thread.loop)
      let delay = Duration.milliseconds(300)  // longer than a loaded machine takes to end the loop
      let clocks: [any Clock<Duration>] = [
        loop.clock, loop.continuousClock, loop.wallClock, _Concurrency.ContinuousClock(), SuspendingClock(),
      ]
      for clock in clocks {
        kept.append(Delayer(loop.executor(in: "never"), after: delay, by: clock))
        tasks.append(place(on: kept.last!))
      }
      thread.stop(.now)
      try await thread.join()
      // It has ended.
      for clock in clocks {
        kept.append(Delayer(loop.executor, after: delay, by: clock))
        tasks.append(place(on: kept.last!))
      }
      for task in tasks {
        let place = await task.value
        #expect(place.thread == "rl-ended-loops")
        #expect(place.elapsed >= delay)
      }
      withExtendedLifetime(kept) {}
    }
  }

  /// The thread that runs what is left ends as well, by a job.
  @Test func test_RLK_EXEC_14_aJobMayEndThatThreadToo() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      let ended = Box<RunLoop?>(nil)
      try onOwnThread { (loop: RunLoop) in ended.value = loop }
      let executor = try #require(ended.value).executor
      let delayer = Delayer(executor, after: .milliseconds(300), by: SuspendingClock())
      let waiting = place(on: delayer)
      abandonTask(on: executor)
      let place = await waiting.value
      #expect(place.thread == "rl-ended-loops")
      #expect(place.elapsed >= delayer.delay)
    }
  }

  /// Another loop's clock, and that loop ends: its sleep fails, the job is not early.
  @Test func test_RLK_EXEC_15_theLoopOfTheClockEnds() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      let (one, other) = (RunLoop.Thread(name: "jobs"), RunLoop.Thread(name: "clock"))
      try await one.start()
      try await other.start()
      let loop = try #require(one.loop)
      let delayer = Delayer(loop.executor, after: .milliseconds(300), by: try #require(other.loop).clock)
      let waiting = place(on: delayer)
      other.stop(.now)
      try await other.join()
      let place = await waiting.value
      #expect(place.thread == "jobs")
      #expect(place.elapsed >= delayer.delay)
      one.stop()
      try await one.join()
    }
  }

  /// Nobody has ever run the mode in which a job waits whose date has passed.
  @Test func test_RLK_EXEC_14_aDateThatPassedInAModeThatNobodyRan() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      let waiting = Box<Task<Place, Never>?>(nil)
      let kept = Box<Delayer?>(nil)
      try onOwnThread { (loop: RunLoop) in
        let delayer = Delayer(loop.executor(in: "never"), after: .nanoseconds(1), by: loop.clock)
        kept.value = delayer
        waiting.value = place(on: delayer)
        yieldUntil(loop.nextFireDate(in: "never").map { $0 < .now } ?? false)
      }
      let task = try #require(waiting.value)
      _ = await task.value
    }
  }
}
