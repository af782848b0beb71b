import RunLoopKit
import RunLoopTestSupport
import Testing

import class RunLoopKit.RunLoop

/// Tasks that sleep on a loop's timers, in real time.
@Suite struct SleepTests {
  @Test func test_RLK_SLEEP_1_neverEarly() async throws {
    let thread = RunLoop.Thread(name: "clock")
    try await thread.start()
    let loop = try #require(thread.loop)
    let begin = RunLoop.Instant.now
    try await Task.sleep(for: .milliseconds(2), clock: loop.clock)
    #expect(begin.duration(to: .now) >= .milliseconds(2))
    let (continuous, wall) = (loop.continuousClock.now, loop.wallClock.now)
    try await Task.sleep(for: .milliseconds(1), clock: loop.continuousClock)
    #expect(continuous.duration(to: .now) >= .milliseconds(1))
    try await Task.sleep(until: wall.advanced(by: .milliseconds(1)), clock: loop.wallClock)
    #expect(loop.wallClock.now >= wall.advanced(by: .milliseconds(1)))
    // A moment in the past.
    try await loop.clock.sleep(until: begin)
    #expect(loop.nextFireDate() == nil)
    thread.stop()
    try await thread.join()
  }

  @Test func test_RLK_SLEEP_2_cancellingEndsASleepAtOnce() async throws {
    let thread = RunLoop.Thread(name: "clock")
    try await thread.start()
    let loop = try #require(thread.loop)
    let clock = loop.clock(in: "a mode that nobody runs")
    let asleep = Task { try await Task.sleep(for: .seconds(1000), clock: clock) }
    await yieldUntil(!loop.isEmpty(in: "a mode that nobody runs"))
    asleep.cancel()
    await #expect(throws: CancellationError.self) { try await asleep.value }
    #expect(loop.isEmpty(in: "a mode that nobody runs"))
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(until: .distantFuture)
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(loop.isEmpty(in: "a mode that nobody runs"))
    thread.stop()
    try await thread.join()
  }

  /// The date comes while the task is about to suspend, which was cancelled before.
  @Test func test_RLK_SLEEP_2_aDateIsNothingToATaskThatWasCancelledBefore() async {
    await #expect(throws: CancellationError.self) {
      try await Resumption<Void>.wait { task in
        withUnsafeCurrentTask { $0?.cancel() }
        task.settleUnlessCalledOff(())
        return { false }
      }
    }
  }

  @Test func test_RLK_SLEEP_3_theLoopsEndEndsASleep() async throws {
    let thread = RunLoop.Thread(name: "clock")
    try await thread.start()
    let loop = try #require(thread.loop)
    let asleep = Task { try await Task.sleep(for: .seconds(1000), clock: loop.clock) }
    let pinned = Task(executorPreference: loop.executor) { try await Task.sleep(for: .seconds(999), clock: loop.clock) }
    await yieldUntil(loop.items(in: .default).filter { $0.label == "sleep of a task" }.count == 2)
    let held = loop.items(in: .default)  // whoever holds the timers
    thread.stop(.now)
    await #expect(throws: RunLoopError.loopEnded) { try await asleep.value }
    await #expect(throws: RunLoopError.loopEnded) { try await pinned.value }
    try await thread.join()
    await #expect(throws: RunLoopError.loopEnded) { try await loop.clock.sleep(until: .now) }
    withExtendedLifetime(held) {}
  }

  @Test func otherCodeInvalidatesTheTimer() async throws {
    let thread = RunLoop.Thread(name: "clock")
    try await thread.start()
    let loop = try #require(thread.loop)
    let asleep = Task { try await Task.sleep(for: .seconds(1000), clock: loop.clock) }
    await yieldUntil(loop.items(in: .default).contains { $0.label == "sleep of a task" })
    for item in loop.items(in: .default) where item is RunLoop.Timer { item.invalidate() }
    await #expect(throws: RunLoopError.invalidItem) { try await asleep.value }
    thread.stop()
    try await thread.join()
  }

  /// Sleeps, cancellations and the loop's end at moments that a seed decides: every task goes on, once.
  @Test(arguments: 0..<10) func everySleepEndsOnce(seed: UInt64) async throws {
    var random = SplitMix(seed)
    let thread = RunLoop.Thread(name: "clock")
    try await thread.start()
    let loop = try #require(thread.loop)
    var tasks: [Task<Void, any Error>] = []
    for index in 0..<60 {
      let length = Duration.microseconds(random.below(300))
      let task =
        random.isOne(in: 2)
        ? Task { try await Task.sleep(for: length, clock: loop.clock) }
        : Task(executorPreference: loop.executor) { try await Task.sleep(for: length, clock: loop.clock) }
      tasks.append(task)
      if random.isOne(in: 3) { tasks[Int(random.below(tasks.count))].cancel() }
      if index == 50, random.isOne(in: 2) { thread.stop(.now) }
      if random.isOne(in: 4) { await Task.yield() }
    }
    for task in tasks {
      do {
        try await task.value
      } catch {
        #expect(error is CancellationError || error as? RunLoopError == .loopEnded)
      }
    }
    thread.stop()
    try await thread.join()
  }
}
