import Glibc
import RunLoopKit
import RunLoopPorts
import RunLoopTestSupport
import Testing

import class RunLoopKit.RunLoop

/// Hands the first job on with an hour's delay.
private final class Late: TaskExecutor {
  let executor: RunLoop.Executor
  init(_ executor: RunLoop.Executor) { self.executor = executor }
  func enqueue(_ job: consuming ExecutorJob) {
    executor.enqueue(job, after: .seconds(3600), clock: SuspendingClock())
  }
}

private func endedExecutor() throws -> RunLoop.Executor {
  let ended = Box<RunLoop?>(nil)
  try onOwnThread { (loop: RunLoop) in ended.value = loop }
  return try #require(ended.value).executor
}

private final class Soon: TaskExecutor {
  let executor: RunLoop.Executor
  init(_ executor: RunLoop.Executor) { self.executor = executor }
  func enqueue(_ job: consuming ExecutorJob) {
    executor.enqueue(job, after: .milliseconds(1), clock: SuspendingClock())
  }
}

/// Jobs of an ended loop, while the process can have no descriptor, and so no thread with a loop; then it can. Nothing
/// else of the process has the jobs looked at again.
private func waitForAThread(_ executors: (RunLoop.Executor) -> [any TaskExecutor]) async throws {
  endIfItHangs()
  let (executor, told) = (try endedExecutor(), Box<[String]>([]))
  RunLoop.diagnostics.handler = { _, text in told.update { $0.append(text) } }
  try await Task.sleep(for: .nanoseconds(1), clock: .continuous)  // the runtime has its own descriptors
  let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  var usual = rlimit()
  getrlimit(files, &usual)
  var none = rlimit(rlim_cur: 0, rlim_max: usual.rlim_max)
  setrlimit(files, &none)
  let executors = executors(executor)
  let tasks = executors.map { executor in Task(executorPreference: executor) { nameOfThread() } }
  await yieldUntil(!told.value.isEmpty)
  setrlimit(files, &usual)
  for task in tasks { #expect(await task.value == "rl-ended-loops") }
  #expect(told.value == ["jobs of a run loop that has ended wait until a thread can be started for them"])
  withExtendedLifetime(executors) {}
}

/// Jobs when a loop ends, or has ended: none is left behind, and each runs where it is told. What shares the thread of
/// ended loops has a process of its own.
@Suite struct JobsAtTheEndTests {
  /// The end of the thread moves the delayed job to another thread, before it looks at what waits.
  @Test func test_RLK_EXEC_8_whatWaitsGoesOnBesideADelayedJob() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      let executor = try endedExecutor()
      let late = Late(executor)
      let delayed = Task(executorPreference: late) {}
      let waiting = Box<Task<String, Never>?>(nil)
      await Task(executorPreference: executor) {
        abandonTask(on: executor)
        waiting.value = Task(executorPreference: executor) { nameOfThread() }
      }.value
      let task = try #require(waiting.value)
      #expect(await task.value == "rl-ended-loops")
      withExtendedLifetime((late, delayed)) {}
    }
  }

  /// A job that always comes again leaves timers their turn, also if it has come before the timer.
  @Test func test_RLK_EXEC_14_jobsThatComeAgainDoNotKeepADelayedOneAway() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      let executor = try endedExecutor()
      let (isOver, turns) = (Box(false), Box(0))
      let spinning = Task(executorPreference: executor) {
        while !isOver.value {
          turns.update { $0 += 1 }
          await Task.yield()
        }
      }
      await yieldUntil(turns.value > 0)
      let soon = Soon(executor)
      await Task(executorPreference: soon) { isOver.value = true }.value
      await spinning.value
      withExtendedLifetime(soon) {}
    }
  }

  /// They wait until there can be one, and that is told once.
  @Test func test_RLK_EXEC_8_jobsWaitForAThreadThatCannotBeMade() async {
    await #expect(processExitsWith: .success) { try await waitForAThread { [$0, $0] } }
  }

  /// Their time comes while there can be none.
  @Test func test_RLK_EXEC_8_jobsWithADelayWaitForAThreadToo() async {
    await #expect(processExitsWith: .success) { try await waitForAThread { [Soon($0)] } }
  }

  /// A job is user code, and may block its thread: what another process answers comes meanwhile.
  @Test func test_RLK_ASYNC_20_aJobThatBlocksKeepsNoAnswerAway() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      let name = NameFolder.newName()
      let peer = Peer("serve", name)
      let right = try RunLoop.Port.connect(to: name)
      let (blocks, goOn) = (Gate(), Gate())
      let job = Task(executorPreference: try endedExecutor()) {
        blocks.open()
        goOn.wait()
        return nameOfThread()
      }
      blocks.wait()
      #expect(try await right.request(RunLoop.Message(id: 12)).id == 12)
      goOn.open()
      #expect(await job.value == "rl-ended-loops")
      withExtendedLifetime(peer) {}
    }
  }

  /// As many as wait when it is told.
  @Test func test_RLK_EXEC_9_aStopAfterDueWorkRunsTheJobsThatWait() async throws {
    let (thread, held, open) = (RunLoop.Thread(name: "due"), Gate(), Gate())
    try await thread.start()
    let loop = try #require(thread.loop)
    try loop.perform {
      held.open()
      open.wait()
    }
    held.wait()
    let tasks = (0..<1000).map { _ in Task(executorPreference: loop.executor) { nameOfThread() } }
    thread.stop()
    open.open()
    var names: Set<String> = []
    for task in tasks { names.insert(await task.value) }
    #expect(names == ["due"])
    try await thread.join()
  }

  private actor PinnedLater {
    nonisolated let loop: RunLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
    init(_ loop: RunLoop) { self.loop = loop }
    func isHere() -> Bool { loop.isCurrent }
  }

  /// Nobody has asked for the executor before.
  @Test func test_RLK_EXEC_2_calloutsOfTheEndAreIsolatedToo() throws {
    let answer = Box<Bool?>(nil)
    try onOwnThread { (loop: RunLoop) throws in
      let actor = PinnedLater(loop)
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { _, _ in answer.value = actor.assumeIsolated { $0.isHere() } }
      try loop.add(RunLoop.Source(hooks: hooks) { _ in })
    }
    #expect(answer.value == true)
  }
}
