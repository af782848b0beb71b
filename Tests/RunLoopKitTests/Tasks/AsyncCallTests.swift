import Glibc
import RunLoopKit
import RunLoopTestSupport
import Testing

import class RunLoopKit.RunLoop

private struct Failure: Error, Equatable {}

private actor Pinned {
  nonisolated let loop: RunLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
  init(_ loop: RunLoop) { self.loop = loop }

  func callHere() async throws -> [String] {
    var log = ["before"]
    log.append(try await loop.performAndWait { "at once" })
    return log + ["after"]
  }
}

/// What a call of a task has thrown, by name.
private func outcome<R: Sendable>(of task: Task<R, any Error>) async -> String {
  switch await task.result {
  case .success(let value): "\(value)"
  case .failure(is CancellationError): "cancelled"
  case .failure(let error as RunLoopError) where error == .wouldDeadlock: "deadlock"
  case .failure(let error as RunLoopError): error == .loopEnded ? "ended" : error == .timedOut ? "late" : "\(error)"
  case .failure: "failure"
  }
}

/// Holds the block for the call alone.
private func call<R: Sendable>(_ loop: RunLoop, _ block: consuming @escaping @Sendable () -> R) async throws -> R {
  try await loop.performAndWait(block: consume block)
}

struct AsyncCallTests {
  @Test func test_RLK_ASYNC_1_aTaskGetsTheBlocksAnswer() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    #expect(try await loop.performAndWait { loop.isCurrent })
    #expect(try await loop.performAndWait(in: "mine", .default) { loop.currentMode } == .default)
    #expect(try await loop.performAndWait(after: .microseconds(1)) { loop.isCurrent })
    await #expect(throws: Failure.self) { try await loop.performAndWait { throw Failure() } as Void }
    await #expect(throws: Failure.self) { try await loop.performAndWait(after: .zero) { throw Failure() } as Void }
    #expect(try await Pinned(loop).callHere() == ["before", "at once", "after"])
    thread.stop()
    try await thread.join()
    await #expect(throws: RunLoopError.loopEnded) { try await loop.performAndWait {} }
    await #expect(throws: RunLoopError.loopEnded) { try await loop.performAndWait(after: .zero) {} }
  }

  /// As the form that does not suspend its caller.
  @Test func test_RLK_DELAY_9_aCallThatIsAwaitedTakesZeroForExact() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    loop.defaultTimerTolerance = .seconds(5)
    for (given, used) in [(nil, .seconds(5)), (.zero, .zero)] as [(Duration?, Duration)] {
      let delayed = Task { try await loop.performAndWait(after: .seconds(1000), tolerance: given) {} }
      await yieldUntil(loop.items().contains { $0 is RunLoop.Timer })
      #expect(loop.items().compactMap { ($0 as? RunLoop.Timer)?.tolerance } == [used])
      delayed.cancel()
      await #expect(throws: CancellationError.self) { try await delayed.value }
    }
    thread.stop(.now)
    try await thread.join()
  }

  /// The block is of a mode that the loop never runs.
  @Test func test_RLK_ASYNC_2_whatComesFirstCounts() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    let cancelled = Task { try await loop.performAndWait(in: "never") { "ran" } }
    cancelled.cancel()
    #expect(await outcome(of: cancelled) == "cancelled")
    let overdue = Task { try await loop.performAndWait(in: "never", timeout: .milliseconds(1)) {} }
    #expect(await outcome(of: overdue) == "late")
    #expect(loop.isEmpty(in: "never"))
    // As soon as the block is queued.
    let late = Task { try await loop.performAndWait(in: "never") { "ran" } }
    await yieldUntil(!loop.isEmpty(in: "never"))
    late.cancel()
    #expect(await outcome(of: late) == "cancelled")
    #expect(loop.isEmpty(in: "never"))
    let lost = Task { try await loop.performAndWait(in: "never") { "ran" } }
    let delayed = Task { try await loop.performAndWait(after: .seconds(1000)) { "ran" } }
    await yieldUntil(!loop.isEmpty(in: "never") && loop.nextFireDate() != nil)
    thread.stop(.now)
    #expect(await outcome(of: lost) == "ended")
    #expect(await outcome(of: delayed) == "ended")
    try await thread.join()
  }

  @Test func test_RLK_ASYNC_2_aHugeLimitIsNone() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    #expect(try await loop.performAndWait(timeout: .seconds(Int64.max)) { "ran" } == "ran")
    thread.stop()
    try await thread.join(timeout: .seconds(Int64.max))
  }

  /// However long it is: what would end the call goes with it.
  @Test func test_RLK_ASYNC_2_aLimitGoesWithItsCall() async throws {
    struct Weak { weak var task: Resumption<Void>? }
    let held = Box<[Weak]>([])
    func wait(_ body: (Resumption<Void>) throws -> @Sendable () -> Bool) async throws {
      try await Resumption<Void>.wait(timeout: .seconds(100_000)) { task in
        held.update { $0.append(Weak(task: task)) }
        return try body(task)
      }
    }
    try await wait { task in
      task.settle(.success(()))
      return { false }
    }
    await #expect(throws: Failure.self) { try await wait { _ in throw Failure() } }
    await #expect(throws: CancellationError.self) {
      try await wait { _ in
        withUnsafeCurrentTask { $0?.cancel() }
        return { true }
      }
    }
    #expect(held.value.count == 3)
    await yieldUntil(held.value.allSatisfy { $0.task == nil })
  }

  @Test func test_RLK_ASYNC_2_aLimitBelowZeroIsZero() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    for limit in [Duration(attoseconds: .min), .seconds(Int64.min) * 2, .seconds(-1)] {
      await #expect(throws: RunLoopError.timedOut) { try await loop.performAndWait(in: "never", timeout: limit) {} }
      await #expect(throws: RunLoopError.timedOut) { try await thread.join(timeout: limit) }
    }
    thread.stop()
    try await thread.join()
  }

  @Test func test_RLK_ASYNC_3_theBlockIsReleasedBeforeTheTaskGoesOn() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    let isGone = Box(false)
    var token: Token? = Token { isGone.value = true }
    let block = { @Sendable [token] in withExtendedLifetime(token) { isGone.value } }
    token = nil
    // The task's own copy of the block goes with the call.
    #expect(try await call(loop, consume block) == false)
    #expect(isGone.value)
    thread.stop()
    try await thread.join()
  }

  @Test func test_RLK_ASYNC_4_cancellingTheTaskCancelsTheDelayedBlock() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    let task = Task { try await loop.performAndWait(after: .seconds(1000)) { "ran" } }
    await yieldUntil(loop.nextFireDate() != nil)
    task.cancel()
    #expect(await outcome(of: task) == "cancelled")
    #expect(loop.nextFireDate() == nil)
    thread.stop()
    try await thread.join()
  }

  @Test func test_RLK_ASYNC_1_aDelayedBlockRunsInItsMode() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let (loop, mode) = (try #require(thread.loop), Box<RunLoop.Mode?>(nil))
    let task = Task {
      try await loop.performAndWait(after: .zero, in: "mine") { mode.value = loop.currentMode }
    }
    while mode.value == nil { try await loop.performAndWait { _ = try? loop.run(in: "mine", for: .zero) } }
    try await task.value
    #expect(mode.value == "mine")
    thread.stop()
    try await thread.join()
  }

  /// By what everybody can find among the loop's items.
  @Test func test_RLK_ASYNC_9_otherCodeTakesTheTimerOfADelayedBlock() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    func timers() -> [RunLoop.Item] { loop.items(in: .default).filter { $0 is RunLoop.Timer } }
    for take in [{ $0.invalidate() }, { loop.remove($0) }] as [@Sendable (RunLoop.Item) -> Void] {
      let task = Task { try await loop.performAndWait(after: .seconds(1000)) { "ran" } }
      await yieldUntil(!timers().isEmpty)
      for timer in timers() { take(timer) }
      await #expect(throws: RunLoopError.invalidItem) { try await task.value }
    }
    thread.stop()
    try await thread.join()
  }

  @Test func test_RLK_ASYNC_5_aTaskStartsAThread() async throws {
    let failing = RunLoop.Thread(name: "async") { _ in throw Failure() }
    await #expect(throws: Failure.self) { try await failing.start() }
    await #expect(throws: RunLoopError.alreadyStarted) { try await failing.start() }
    try await failing.join()
    let small = RunLoop.Thread(name: "async", stackSize: 1) { _ in }
    await #expect(throws: RunLoopError.self) { try await small.start() }
    // Cancelled or not.
    let thread = RunLoop.Thread(name: "async")
    let start = Task { try await thread.start() }
    start.cancel()
    #expect(await outcome(of: start) == "()")
    #expect(thread.isRunning)
    thread.stop()
    try await thread.join()
  }

  @Test func test_RLK_ASYNC_6_aTaskWaitsForAThread() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.join()  // not started yet
    try await thread.start()
    let loop = try #require(thread.loop)
    #expect(await outcome(of: Task { try await thread.join(timeout: .milliseconds(1)) }) == "late")
    let cancelled = Task { try await thread.join() }
    cancelled.cancel()
    #expect(await outcome(of: cancelled) == "cancelled")
    let itself = Task(executorPreference: loop.executor) { try await thread.join() }
    #expect(await outcome(of: itself) == "deadlock")
    let waiting = (1...4).map { _ in Task { try await thread.join() } }
    thread.stop()
    for task in waiting { #expect(await outcome(of: task) == "()") }
    #expect(loop.hasEnded)
    try await thread.join()
  }

  @Test func test_RLK_ASYNC_10_aThreadThatEndsInTheBlockEndsTheProcess() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      alarm(60)  // a hang says nothing
      let thread = RunLoop.Thread(name: "ends")
      try await thread.start()
      try await thread.loop?.performAndWait(after: .zero) { pthread_exit(nil) }
    }
    let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(words.contains("inside a block of performAndWait"))
  }

  /// Cancellations, limits, stops of loops and answers of blocks, at moments that a seed decides: every task goes on, once.
  @Test(arguments: 0..<20) func test_RLK_ASYNC_9_everyTaskGoesOnOnce(seed: UInt64) async throws {
    var random = SplitMix(seed)
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    let (ran, answered) = (Box(0), Box(0))
    var tasks: [Task<String, any Error>] = []
    for index in 0..<60 {
      let (kind, pause) = (random.below(4), random.below(200))
      let limit: Duration? = random.isOne(in: 3) ? .microseconds(random.below(300)) : nil
      let task = Task { () -> String in
        @Sendable func block() -> String {
          ran.update { $0 += 1 }
          return "ran"
        }
        let answer: String
        switch kind {
        case 0: answer = try await loop.performAndWait(timeout: limit, block: block)
        case 1: answer = try await loop.performAndWait(in: .default, "never", timeout: limit, block: block)
        case 2: answer = try await loop.performAndWait(after: .microseconds(pause), block: block)
        default: answer = try await loop.performAndWait(in: "never", timeout: .microseconds(pause), block: block)
        }
        answered.update { $0 += 1 }
        return answer
      }
      tasks.append(task)
      if random.isOne(in: 4) { tasks[random.below(tasks.count)].cancel() }
      if index == 50 { thread.stop(random.isOne(in: 2) ? .now : .afterDueWork) }
    }
    for task in tasks {
      let outcome = await outcome(of: task)
      #expect(["ran", "cancelled", "late", "ended"].contains(outcome))
    }
    #expect(ran.value == answered.value)
    try await thread.join()
  }
}
