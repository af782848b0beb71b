import Glibc
import RunLoopKit
import Testing

import class RunLoopKit.RunLoop

private actor Pinned {
  nonisolated let loop: RunLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
  private let end: @Sendable () -> Void
  /// Of each task, the number of its last job.
  private(set) var last: [Int]
  private(set) var isInOrder = true

  init(_ loop: RunLoop, tasks: Int = 0, end: @escaping @Sendable () -> Void = {}) {
    self.loop = loop
    self.end = end
    last = Array(repeating: -1, count: tasks)
  }

  deinit { end() }

  func note(_ task: Int, _ index: Int) {
    if last[task] != index - 1 { isInOrder = false }
    last[task] = index
  }
}

#if compiler(>=6.2)
  /// Its end is a job of the executor, unless the thread that releases it is the loop's.
  private actor PinnedToItsEnd {
    nonisolated let loop: RunLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
    private let end: @Sendable () -> Void

    init(_ loop: RunLoop, end: @escaping @Sendable () -> Void) {
      self.loop = loop
      self.end = end
    }

    isolated deinit { end() }
  }
#endif

/// Executors of loops that do not run, have many jobs, or end.
@Suite struct ExecutorCaseTests {
  /// Jobs wait for a run: before the first one, after one that was stopped; a stop between runs stops nothing.
  @Test func test_RLK_EXEC_21_jobsBeforeARunAndAfterAStop() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let log = Box<[String]>([])
      @Sendable func enqueue(_ line: String, stops: Bool = false) {
        Task(executorPreference: loop.executor) {
          log.update { $0.append(line) }
          if stops { loop.stop() }
        }
      }
      for line in ["before", "a run"] { enqueue(line) }
      #expect(log.value == [])
      loop.stop()
      #expect(try loop.run() == .finished)
      #expect(log.value == ["before", "a run"])
      enqueue("stops", stops: true)
      #expect(try loop.run() == .stopped)
      enqueue("after")
      enqueue("a stop")
      loop.stop()
      #expect(log.value == ["before", "a run", "stops"])
      #expect(try loop.run() == .finished)
      #expect(log.value == ["before", "a run", "stops", "after", "a stop"])
    }
  }

  @Test func test_RLK_EXEC_22_whoIsIsolated() async throws {
    let seen = Box<[String: Bool?]>([:])
    let ended = Box<RunLoop?>(nil)
    try onOwnThread { (loop: RunLoop) throws in
      ended.value = loop
      let (executor, other) = (loop.executor, loop.executor(in: "another mode"))
      @Sendable func note(_ place: String, _ executor: RunLoop.Executor = executor) {
        seen.update { $0[place] = executor.isIsolatingCurrentContext() }
      }
      note("outside of a run")
      note("by another executor of the loop", other)
      try loop.perform(in: .default) { note("in a block") }
      Task(executorPreference: executor) { note("in a job") }
      try loop.run()
      try onOwnThread { _ in note("on another thread") }
    }
    let executor = try #require(ended.value).executor
    await Task(executorPreference: executor) {
      seen.update { $0["where jobs of ended loops run"] = executor.isIsolatingCurrentContext() }
    }.value
    seen.update { $0["elsewhere, when the loop has ended"] = executor.isIsolatingCurrentContext() }
    #expect(
      seen.value == [
        "outside of a run": true, "by another executor of the loop": true, "in a block": true, "in a job": true,
        "on another thread": false, "where jobs of ended loops run": true, "elsewhere, when the loop has ended": false,
      ])
  }

  /// Sixty-four tasks wait for a job each, again and again: none is lost or doubled, and each task's are in order.
  @Test func test_RLK_EXEC_23_aMillionJobsOfManyTasks() async throws {
    let (tasks, each) = (64, (isSlow ? 100_000 : 1_000_000) / 64)
    let thread = RunLoop.Thread(name: "jobs")
    try await thread.start()
    let actor = Pinned(try #require(thread.loop), tasks: tasks)
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<tasks { group.addTask { for index in 0..<each { await actor.note(task, index) } } }
    }
    #expect(await actor.isInOrder)
    #expect(await actor.last == Array(repeating: each - 1, count: tasks))
    thread.stop()
    try await thread.join()
  }

  /// Of what many tasks have enqueued, the jobs of a higher priority come first, and each task's in order.
  @Test func test_RLK_EXEC_23_prioritiesOfManyTasks() async throws {
    let priorities: [TaskPriority] = [.low, .high, .medium, .background]
    let (tasks, each) = (64, 100)
    let log = Box<[(priority: UInt8, task: Int, index: Int)]>([])
    let (isReady, mayRun) = (Gate(), Gate())
    let loop = Box<RunLoop?>(nil)
    let thread = RunLoop.Thread(name: "jobs") { made in
      loop.value = made
      try made.perform(in: .default) {
        isReady.open()
        mayRun.wait()
      }
    }
    try await thread.start()
    isReady.wait()
    let executor = try #require(thread.loop).executor
    let all = await withTaskGroup(of: [Task<Void, Never>].self) { group in
      for task in 0..<tasks {
        let priority = priorities[task % priorities.count]
        group.addTask {
          (0..<each).map { index in
            Task(executorPreference: executor, priority: priority) {
              log.update { $0.append((priority.rawValue, task, index)) }
            }
          }
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    mayRun.open()
    for task in all { await task.value }
    #expect(log.value.count == tasks * each)
    #expect(zip(log.value, log.value.dropFirst()).allSatisfy { $0.priority >= $1.priority })
    for task in 0..<tasks { #expect(log.value.filter { $0.task == task }.map(\.index) == Array(0..<each)) }
    thread.stop()
    try await thread.join()
  }

  /// The last reference goes with a job, with an item, with a scope of the thread that ends.
  @Test func test_RLK_EXEC_24_anActorEndsWithItsThread() async throws {
    let ends = Box<[String: Bool?]>([:])
    let ended = Box<RunLoop?>(nil)
    try onOwnThread { (loop: RunLoop) throws in
      ended.value = loop
      let executor = loop.executor
      @Sendable func end(_ place: String) -> @Sendable () -> Void {
        { ends.update { $0[place] = executor.isIsolatingCurrentContext() } }
      }
      func add(_ actor: AnyObject & Sendable, _ place: String) throws {
        try loop.add(RunLoop.Source { _ in withExtendedLifetime(actor) {} }, to: "never")
      }
      let inJob = Box<Pinned?>(Pinned(loop, end: end("job")))
      Task(executorPreference: executor) { inJob.value = nil }
      try loop.run()
      try add(Pinned(loop, end: end("item")), "item")
      RunLoop.Scope.autorelease(Pinned(loop, end: end("scope")))
      #if compiler(>=6.2)
        try add(PinnedToItsEnd(loop, end: end("isolated, item")), "isolated, item")
        RunLoop.Scope.autorelease(PinnedToItsEnd(loop, end: end("isolated, scope")))
      #endif
    }
    // What the end of the thread has left is done in order.
    let executor = try #require(ended.value).executor
    await Task(executorPreference: executor) {}.value
    #if compiler(>=6.2)
      let places = ["job", "item", "scope", "isolated, item", "isolated, scope"]
    #else
      let places = ["job", "item", "scope"]
    #endif
    #expect(ends.value == Dictionary(uniqueKeysWithValues: places.map { ($0, true) }))
  }
}
