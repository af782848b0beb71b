import Glibc
import RunLoopKit
import RunLoopTestSupport
import Testing

import class RunLoopKit.RunLoop

/// An actor whose methods run on a loop's thread.
private actor Pinned {
  nonisolated let executor: RunLoop.Executor
  private(set) var log: [String] = []

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ executor: RunLoop.Executor) { self.executor = executor }

  func note(_ line: String) { log.append(line) }
  func isOn(_ loop: RunLoop) -> Bool { loop.isCurrent }
  func error(of body: @Sendable () throws -> Void) -> RunLoopError? { thrown(body) }
  func threadName() -> String { nameOfThread() }

  /// Runs the loop of whatever thread it is on, once, inside of a job.
  func runHere(after body: @Sendable () -> Void) {
    log.append("begins")
    body()
    runCurrentOnce()
    log.append("ends")
  }

  /// Runs the loop inside of a job.
  func run(_ loop: RunLoop, during body: @Sendable () -> Void) -> RunLoop.RunResult? {
    log.append("begins")
    body()
    let result = nestedRun(loop)
    log.append("ends")
    return result
  }
}

private func nestedRun(_ loop: RunLoop) -> RunLoop.RunResult? { try? loop.run(for: .seconds(10)) }

private func runCurrentOnce() { _ = try? RunLoop.current.run(for: .zero) }

func endThread() { pthread_exit(nil) }

/// In a task whose job never ends: nobody can go on with it, or release it. The leak check knows it by this name.
func abandonTask(on executor: RunLoop.Executor, by leave: @escaping @Sendable () -> Void = { endThread() }) {
  Task(executorPreference: executor) { leave() }
}

/// A thread that serves its loop; not from an async function, as its calls block.
private func startedThread() throws -> (RunLoop.Thread, RunLoop) {
  let thread = RunLoop.Thread(name: "pinned")
  try thread.start()
  return (thread, try #require(thread.loop))
}

private func end(_ thread: RunLoop.Thread) throws {
  thread.stop()
  try thread.join()
}

struct ExecutorTests {
  @Test func test_RLK_EXEC_1_anActorRunsOnTheLoopsThread() async throws {
    let (thread, loop) = try startedThread()
    let actor = Pinned(loop.executor)
    #expect(await actor.isOn(loop))
    #expect(await Task(executorPreference: loop.executor) { loop.isCurrent }.value)
    let isThere = await withTaskExecutorPreference(loop.executor) { await whereAmI(loop) }
    #expect(isThere)
    #expect(loop.executor === loop.executor)
    #expect(loop.executor(in: .default, .tracking) === loop.executor(in: .tracking, .default))
    #expect(loop.executor(in: .default) !== loop.executor)
    try end(thread)
  }

  @Test func test_RLK_EXEC_2_calloutsAreIsolated() async throws {
    let (thread, loop) = try startedThread()
    let actor = Pinned(loop.executor)
    let isIsolated = await withCheckedContinuation { continuation in
      let timer = RunLoop.Timer(fireDate: .now) { _ in
        loop.executor.checkIsolated()
        continuation.resume(returning: actor.assumeIsolated { $0.executor.isIsolatingCurrentContext() })
      }
      do { try loop.add(timer) } catch { continuation.resume(returning: nil) }
    }
    #expect(isIsolated == true)
    #expect(loop.executor.isIsolatingCurrentContext() == false)
    try end(thread)
  }

  @Test func test_RLK_EXEC_2_elsewhereTheCheckEndsTheProcess() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let thread = RunLoop.Thread(name: "elsewhere")
      try await thread.start()
      guard let executor = thread.loop?.executor else { exit(0) }
      executor.checkIsolated()
      exit(0)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("this is not the thread of the run loop"))
  }

  /// All of them wait before the first is run.
  @Test func test_RLK_EXEC_3_jobsRunByPriorityThenInOrder() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let log = Box<[String]>([])
      for (name, priority) in [("low", TaskPriority.low), ("high", .high), ("medium", .medium)] {
        for index in 1...2 {
          Task(executorPreference: loop.executor, priority: priority) { log.update { $0.append("\(name) \(index)") } }
        }
      }
      #expect(try loop.run(in: .default) == .finished)  // jobs that wait keep the mode
      #expect(log.value == ["high 1", "high 2", "medium 1", "medium 2", "low 1", "low 2"])
      #expect(try loop.run(in: .default) == .finished)
    }
  }

  @Test func test_RLK_EXEC_4_aPassRunsSoManyJobs() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let count = Box(0)
      for _ in 0..<300 { Task(executorPreference: loop.executor) { count.update { $0 += 1 } } }
      var seen: [Int] = []
      try loop.assumeOnLoop { local in
        _ = try local.observer(.beforeTimers) { _, _ in seen.append(count.value) }
      }
      #expect(try loop.run() == .finished)
      // A task may take a job more before its first line.
      #expect(zip(seen, seen.dropFirst() + [count.value]).map { $1 - $0 }.max() == 128)
      #expect(count.value == 300)
    }
  }

  /// A job that stops the loop, and one that comes after it: the pass is not cut short, and ends the run.
  @Test func test_RLK_EXEC_5_aStopEndsTheRunAfterThePass() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let count = Box(0)
      for index in 0..<300 {
        Task(executorPreference: loop.executor) {
          if index == 0 { loop.stop() }
          count.update { $0 += 1 }
        }
      }
      #expect(try loop.run() == .stopped)
      #expect((1...RunLoop.Executor.jobsPerPass).contains(count.value))
      #expect(!loop.isEmpty())
      #expect(try loop.run() == .finished)
      #expect(count.value == 300)
    }
  }

  @Test func test_RLK_EXEC_6_aJobInANestedRunWaitsForTheEnclosingJob() async throws {
    let (thread, loop) = try startedThread()
    let actor = Pinned(loop.executor)
    let other = Pinned(loop.executor(in: .default))
    let result = await actor.run(loop) {
      // Enqueued by this thread: the threads of other tasks may all be busy.
      Task(executorPreference: actor.executor) { await actor.note("waits") }
      Task(executorPreference: other.executor) {
        await other.note("another executor's")
        loop.stop()
      }
    }
    #expect(result == .stopped)
    await actor.note("last")
    let log = await actor.log
    #expect(log.prefix(2) == ["begins", "ends"])
    #expect(Set(log.dropFirst(2)) == ["waits", "last"])
    #expect(await other.log == ["another executor's"])
    try end(thread)
  }

  @Test func test_RLK_EXEC_7_jobsWaitForTheirModes() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let log = Box<[String]>([])
      let executor = loop.executor(in: "one", "two")
      Task(executorPreference: executor) { log.update { $0.append("\(loop.currentMode?.rawValue ?? "none")") } }
      #expect(try loop.run(in: .default) == .finished)
      #expect(log.value == [])
      #expect(!loop.isEmpty(in: "two"))
      #expect(loop.description.contains("mode two {\n    port set: none yet, timer port: none\n    kept by: 1 job\n"))
      #expect(try loop.run(in: "two", returnAfterSourceHandled: true) == .handledSource)
      #expect(try loop.run(in: "two") == .finished)
      #expect(log.value == ["two"])
      #expect(loop.isEmpty(in: "one"))
    }
  }

  @Test func test_RLK_EXEC_8_jobsRunAfterTheEndOfTheThread() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      let (thread, loop) = try startedThread()
      let actor = Pinned(loop.executor)
      try end(thread)
      #expect(await actor.threadName() == "rl-ended-loops")
      #expect(await actor.isOn(loop) == false)
      #expect(await actor.error { try loop.perform {} } == .loopEnded)
      #expect(await actor.error { actor.assumeIsolated { _ in } } == nil)
      let late = Pinned(loop.executor(in: "late"))
      #expect(await late.threadName() == "rl-ended-loops")
      #expect(loop.executor.isIsolatingCurrentContext() == false)
    }
  }

  /// On the thread of what is left, too, a job is over before the next one begins.
  @Test func test_RLK_EXEC_8_aRunOnTheOtherThreadBeginsNoJob() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      let (thread, loop) = try startedThread()
      let actor = Pinned(loop.executor)
      try end(thread)
      let waiting = Box<Task<Void, Never>?>(nil)
      await actor.runHere {
        waiting.value = Task(executorPreference: actor.executor) { await actor.note("waits") }
      }
      await waiting.value?.value
      #expect(await actor.log == ["begins", "ends", "waits"])
    }
  }

  @Test func test_RLK_EXEC_8_aJobMayEndThatThreadToo() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      let (thread, loop) = try startedThread()
      let actor = Pinned(loop.executor)
      try end(thread)
      let waiting = Box<Task<String, Never>?>(nil)
      // The second one waits when the first one ends the thread.
      await actor.runHere {
        abandonTask(on: actor.executor)
        waiting.value = Task(executorPreference: actor.executor) { nameOfThread() }
      }
      let task = try #require(waiting.value)
      #expect(await task.value == "rl-ended-loops")
    }
  }

  @Test func test_RLK_EXEC_9_aJobMayEndTheThread() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      let waiting = Box<Task<String, Never>?>(nil)
      try onOwnThread { (loop: RunLoop) throws in
        abandonTask(on: loop.executor)
        waiting.value = Task(executorPreference: loop.executor) { nameOfThread() }
        try loop.run()
      }
      let task = try #require(waiting.value)
      #expect(await task.value == "rl-ended-loops")
    }
  }

  /// What waits when the thread ends is not lost.
  @Test func test_RLK_EXEC_9_jobsThatWaitOutliveTheThread() async {
    await #expect(processExitsWith: .success) {
      endIfItHangs()
      let waiting = Box<Task<String, Never>?>(nil)
      try onOwnThread { (loop: RunLoop) throws in
        waiting.value = Task(executorPreference: loop.executor(in: "never")) { nameOfThread() }
      }
      let task = try #require(waiting.value)
      let name = await task.value
      #expect(name == "rl-ended-loops")
    }
  }

  /// The executor and the loop hold each other until the thread ends.
  @Test func test_RLK_EXEC_10_nothingIsLeftOfALoopThatHasEnded() throws {
    weak var loopLeft: RunLoop?
    weak var executorLeft: RunLoop.Executor?
    try onOwnThread { (loop: RunLoop) throws in
      loopLeft = loop
      executorLeft = loop.executor
      Task(executorPreference: loop.executor) {}
      #expect(try loop.run() == .finished)
    }
    #expect(loopLeft == nil)
    #expect(executorLeft == nil)
  }

  @Test func test_RLK_EXEC_11_jobsFromManyThreadsRunOnceEach() async throws {
    let (thread, loop) = try startedThread()
    let actor = Pinned(loop.executor)
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<16 {
        group.addTask { for index in 0..<200 { await actor.note("\(task) \(index)") } }
      }
    }
    let log = await actor.log
    #expect(log.count == 3200)
    for task in 0..<16 {
      #expect(log.filter { $0.hasPrefix("\(task) ") } == (0..<200).map { "\(task) \($0)" })
    }
    try end(thread)
  }
}

/// On no actor.
@concurrent private func whereAmI(_ loop: RunLoop) async -> Bool { loop.isCurrent }
