import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Two of them are on one loop: a call between them needs no pass.
private actor Pinned {
  nonisolated let executor: RunLoop.Executor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private var hits = 0
  private var begun = 0
  private var ended = 0

  init(_ executor: RunLoop.Executor) { self.executor = executor }

  func hit() { hits += 1 }

  func calls(of other: Pinned, _ count: Int) async { for _ in 0..<count { await other.hit() } }

  /// Calls, and then the turn of the other task, again and again.
  func rounds(_ count: Int, _ other: Pinned, _ turn: Turn) async {
    for _ in 0..<count {
      await calls(of: other, 3)
      await turn.pass()
    }
    await turn.leave()
  }

  func passes(during body: @Sendable (isolated Pinned) async -> Void) async -> Int {
    let counter = countPasses()
    await body(self)
    return counter()
  }

  /// The first job of a task without a preference is this actor's.
  func start(_ preference: (any TaskExecutor)?, _ body: @escaping @Sendable (isolated Pinned) async -> Void) {
    begun += 1
    if let preference {
      Task(executorPreference: preference) { await self.run(body) }
    } else {
      Task { await run(body) }
    }
  }

  private func run(_ body: @Sendable (isolated Pinned) async -> Void) async {
    await body(self)
    ended += 1
  }

  var isOver: Bool { ended == begun }
}

/// Two tasks take turns: one of them waits here while the other one runs.
private actor Turn {
  nonisolated let executor: RunLoop.Executor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private var waiting: CheckedContinuation<Void, Never>?
  private var isLast = false

  init(_ executor: RunLoop.Executor) { self.executor = executor }

  func pass() async {
    guard !isLast else { return }
    await withCheckedContinuation { continuation in
      let other = waiting
      waiting = continuation
      other?.resume()
    }
  }

  func leave() {
    isLast = true
    waiting?.resume()
    waiting = nil
  }
}

/// Of the loop of the calling thread, until the answer is asked for.
private func countPasses() -> () -> Int {
  let count = Box(0)
  let observer = RunLoop.Observer(.beforeSources) { _, _ in count.value += 1 }
  do { try RunLoop.current.add(observer, to: .common) } catch { return { -1 } }
  return {
    observer.invalidate()
    return count.value
  }
}

/// How many turns the executor needs for the tasks that the actor starts: its jobs, of which one makes the next one.
/// (How many passes that are is not fixed: the wake for a job may end a wait behind the pass that runs it.)
private func turns(_ start: @escaping @Sendable (isolated Pinned, Pinned) -> Void) throws -> Int {
  let turns = Box(-1)
  try onOwnThread { (loop: RunLoop) throws in
    let (first, second) = (Pinned(loop.executor), Pinned(loop.executor))
    try loop.add(RunLoop.Timer.never())
    loop.collectsStatistics = true
    first.assumeIsolated { start($0, second) }
    XCTAssertEqual(try loop.run(until: first.assumeIsolated { $0.isOver }, timeout: .seconds(60)), .met)
    turns.value = loop.statistics.sourcesPerformed
  }
  return turns.value
}

/// What actors of one executor call of each other runs on, in whatever task.
/// Not of Swift Testing: a task without a preference is resumed by the runtime's own threads, which the tests of that
/// library block.
final class PinnedCallTests: XCTestCase {
  func test_RLK_EXEC_17_aCallBetweenPinnedActorsTakesNoTurn() throws {
    for calls in [0, 1000] {
      XCTAssertLessThanOrEqual(try turns { me, other in me.start(nil) { await $0.calls(of: other, calls) } }, 3)
      XCTAssertLessThanOrEqual(try turns { me, other in me.start(me.executor) { await $0.calls(of: other, calls) } }, 4)
    }
  }

  /// A task may come to prefer the loop, which no job of its own has shown, and cease to.
  func test_RLK_EXEC_17_alsoIfTheTasksPreferenceChanges() throws {
    let count = try turns { me, other in
      me.start(nil) { me in
        await me.calls(of: other, 300)
        await withTaskExecutorPreference(me.executor) { await me.calls(of: other, 300) }
        await me.calls(of: other, 300)
      }
    }
    XCTAssertLessThanOrEqual(count, 8)
  }

  /// Each task's next job is taken for what the last one was, whatever other tasks are.
  func test_RLK_EXEC_17_alsoIfTasksOfBothKindsTakeTurns() throws {
    func rounds(_ hasPreference: @escaping @Sendable (RunLoop.Executor) -> RunLoop.Executor?) throws -> Int {
      try turns { me, other in
        let turn = Turn(me.executor)
        me.start(nil) { await $0.rounds(100, other, turn) }
        me.start(hasPreference(me.executor)) { await $0.rounds(100, other, turn) }
      }
    }
    let plain = try rounds { _ in nil }
    // The runtime resumes a task that prefers an executor there, and then on its actor: one turn more a round.
    XCTAssertLessThanOrEqual(try rounds { $0 }, plain + 100 + 5)
    // Wherever it runs, a task that prefers another executor comes back: to itself alone.
    let elsewhere = RunLoop.Thread(name: "elsewhere")
    try elsewhere.start()
    let other = try XCTUnwrap(elsewhere.loop?.executor)
    XCTAssertGreaterThan(try rounds { _ in other }, plain)
    elsewhere.stop()
    try elsewhere.join()
  }

  /// Where the jobs of loops that have ended run.
  func test_RLK_EXEC_17_alsoAfterTheEndOfTheLoop() async throws {
    let ended = Box<RunLoop?>(nil)
    try onOwnThread { (loop: RunLoop) in ended.value = loop }
    let executor = try XCTUnwrap(ended.value).executor
    let (first, second) = (Pinned(executor), Pinned(executor))
    let plain = await Task.detached { await first.passes { await $0.calls(of: second, 1000) } }.value
    XCTAssertTrue((0...3).contains(plain), "\(plain)")  // 128 jobs a pass
    let preferring = await Task.detached(executorPreference: executor) {
      await first.passes { await $0.calls(of: second, 1000) }
    }.value
    XCTAssertTrue((0...3).contains(preferring), "\(preferring)")
  }
}
