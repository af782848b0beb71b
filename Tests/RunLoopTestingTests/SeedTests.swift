import CTestSupport
import Glibc
import RunLoopKit
import RunLoopTestSupport
import RunLoopTesting
import Testing

import class RunLoopKit.RunLoop

/// Who goes on where several could, by a seed.
@Suite struct SeedTests {
  /// The steps of tasks on a loop's executor, of tasks and an actor that prefer none, and of a thread.
  private func steps(seed: UInt64?) async throws -> [String] {
    try await VirtualTime.run(seed: seed) { time in
      let (loop, log, book) = (RunLoop.current, Log(), Book())
      try loop.run {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for name in ["a", "b", "c"] {
            group.addTask(executorPreference: loop.executor) {
              for step in 0..<3 {
                log.append("\(name)\(step)")
                await Task.yield()
              }
            }
          }
          if seed != nil {
            for name in ["x", "y"] {
              group.addTask {
                for step in 0..<2 {
                  log.append("\(name)\(step)")
                  await book.write(name)
                  try await Task.sleep(for: .seconds(1800), clock: loop.clock)
                }
              }
            }
          }
          try await group.waitForAll()
        }
      }
      return log.all + ["after \(RunLoop.Instant(nanoseconds: 1_000_000_000_000_000).duration(to: time.now))"]
    }
  }

  @Test func test_RLK_KERNEL_8_aSeedReplays() async throws {
    var orders: Set<[String]> = []
    for seed in 1...20 as ClosedRange<UInt64> {
      let first = try await steps(seed: seed)
      for _ in 0..<3 { #expect(try await steps(seed: seed) == first) }
      #expect(first.last == "after 3600.0 seconds")
      orders.insert(first)
    }
    #expect(orders.count > 10)
  }

  private var stepsInTurn: [String] { (0..<3).flatMap { step in ["a", "b", "c"].map { "\($0)\(step)" } } }

  /// In the order of their coming, each time.
  @Test func withoutASeedJobsRunInTheirOrder() async throws {
    #expect(try await steps(seed: nil) == stepsInTurn + ["after 0.0 seconds"])
  }

  @Test func zeroIsASeedAsOthersAre() async throws {
    #expect(try await steps(seed: 0).filter { stepsInTurn.contains($0) } != stepsInTurn)
  }

  /// An hour, three streams, one of which is cancelled: the same for each seed, but for the order at one moment.
  @Test(arguments: VirtualTime.seeds(10)) func anHourOfThreeStreams(seed: UInt64) async throws {
    let log = try await VirtualTime.run(seed: seed) { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      try loop.run {
        let readers = [7, 11, 13].map { minutes in
          Task {
            do {
              for try await tick in loop.clock.ticks(every: .seconds(60 * minutes)) {
                log.append("\(minutes): \(start.duration(to: tick.date) / .seconds(60))")
              }
            } catch {
              log.append("\(minutes): \(error)")
            }
          }
        }
        try await Task.sleep(for: .seconds(30 * 60), clock: loop.clock)
        readers[1].cancel()
        try await Task.sleep(for: .seconds(30 * 60), clock: loop.clock)
        for reader in readers { reader.cancel() }
        for reader in readers { await reader.value }
      }
      #expect(start.duration(to: time.now) == .seconds(3600))
      return log.all
    }
    // Of seven minutes eight, of eleven two until the half hour, of thirteen four.
    #expect(log.filter { $0.hasPrefix("7: ") && !$0.contains("Error") }.count == 8)
    #expect(log.filter { $0.hasPrefix("11: ") && !$0.contains("Error") }.count == 2)
    #expect(log.filter { $0.hasPrefix("13: ") && !$0.contains("Error") }.count == 4)
    #expect(log.filter { $0.contains("CancellationError") }.count == 3)
  }

  @Test func test_RLK_KERNEL_8_timeLimitsOfTasksAreVirtual() async throws {
    for seed in [nil, 7] as [UInt64?] {
      for mode in [RunLoop.Mode.default, "private"] { try await sendWithALimit(seed: seed, in: mode) }
    }
  }

  /// To a port that is full. The run serves one mode alone.
  private func sendWithALimit(seed: UInt64?, in mode: RunLoop.Mode) async throws {
    try await VirtualTime.run(seed: seed) { time in
      let (loop, start) = (RunLoop.current, time.now)
      let port = RunLoop.Port(queueLimit: 1) { _, _ in }
      // Ends what would wait for ever.
      let late = RunLoop.Timer(fireDate: start.advanced(by: .seconds(7200))) { _ in port.invalidate() }
      try loop.add(late, to: mode)
      try loop.run(in: mode) {
        try await port.sendRight.send(RunLoop.Message())
        await #expect(throws: RunLoopError.timedOut) {
          try await port.sendRight.send(RunLoop.Message(), timeout: .seconds(3600))
        }
      }
      #expect(start.duration(to: time.now) == .seconds(3600))
      late.invalidate()
      #expect(loop.items(in: .common).isEmpty && loop.items(in: mode).isEmpty)
    }
  }

  /// A task that waits for ever is told of, and keeps nobody.
  @Test func aTaskThatIsLeftIsNamed() async throws {
    let error = await #expect(throws: VirtualTime.ThreadsLeft.self) {
      try await VirtualTime.run(seed: 1) { time in
        let gate = time.makeGate()
        Task { block(in: gate) }
      }
    }
    #expect(error?.threads.count == 1)
    #expect(error?.description.contains("virtual-tasks") == true)
  }

  private nonisolated func block(in gate: VirtualTime.Gate) { gate.wait() }

  /// Its place is kept for whoever joins it.
  @Test func aThreadThatLeavesAndComesBackIsJoined() async throws {
    try await VirtualTime.run { time in
      let thread = time.start {
        for _ in 0..<3 {
          time.leave()
          time.enter()
        }
      }
      thread.join()
    }
  }

  /// A participant that has made no loop starts a task.
  @Test func test_RLK_KERNEL_8_tasksOfAThreadWithoutALoopAreVirtual() async throws {
    try await VirtualTime.run(seed: 1) { time in
      let (gate, log) = (time.makeGate(), Log())
      let thread = time.start {
        Task {
          log.append(time.description)
          gate.open()
        }
      }
      gate.wait()
      thread.join()
      #expect(log.all.first?.contains("\"virtual-tasks\" holds the turn") == true)
    }
  }

  /// However it comes to be enqueued: it is the thread of the tasks that does it.
  @Test func test_RLK_KERNEL_8_whatATaskEnqueuesIsVirtual() async throws {
    try await VirtualTime.run(seed: 1) { time in
      let (loop, log) = (RunLoop.current, Log())
      @Sendable func note(_ name: String) {
        log.append("\(name) \(time.description.contains("\"virtual-tasks\" holds the turn"))")
      }
      try loop.run {
        await Task.detached {
          note("task")
          await Task.yield()
          note("yield")
          await Task.detached { note("task of a task") }.value
          note("value")
          await withTaskGroup(of: Void.self) { group in group.addTask { note("child") } }
          note("group")
          try? await Task.sleep(for: .seconds(1), clock: loop.clock)
          note("sleep")
          await Task.yield()
          note("end")
        }.value
      }
      let names = ["task", "yield", "task of a task", "value", "child", "group", "sleep", "end"]
      #expect(log.all == names.map { "\($0) true" })
    }
  }

  /// With all that they do then, before the run returns. They run on the thread of the tasks still: that this thread
  /// holds the turn says less, because it holds it while it ends.
  @Test func test_RLK_KERNEL_8_tasksThatSleepOnTheBodysLoopGoOnAtItsEnd() async throws {
    let log = Log()
    try await VirtualTime.run(seed: 1) { time in
      let loop = RunLoop.current
      Task {
        do { try await Task.sleep(for: .seconds(3600), clock: loop.clock) } catch RunLoopError.loopEnded {
          log.append("the loop has ended")
        } catch {
          log.append("\(error)")
        }
        for _ in 1...3 {
          await Task.yield()
          log.append(nameOfThread())
        }
      }
      time.advance(by: .zero)  // it sleeps by now
      log.append("returns")
    }
    #expect(log.all == ["returns", "the loop has ended", "virtual-tasks", "virtual-tasks", "virtual-tasks"])
  }

  /// Nobody else would tell it.
  @Test func test_RLK_KERNEL_8_aTimeLimitIsOverWhenItsLoopEnds() async throws {
    let port = RunLoop.Port(queueLimit: 1) { _, _ in }
    let task = try await VirtualTime.run { time throws -> Task<Void, any Error> in
      let (loop, start) = (RunLoop.current, time.now)
      let task = Task(executorPreference: loop.executor) {
        try await port.sendRight.send(RunLoop.Message())
        try await port.sendRight.send(RunLoop.Message(), timeout: .seconds(3600))
      }
      // The task waits for room, and its limit is none of the loop's members: no run waits for it.
      #expect(try loop.run() == .finished)
      #expect(time.now == start)
      #expect(loop.items().isEmpty)
      return task
    }
    await #expect(throws: RunLoopError.timedOut) { try await task.value }
    port.invalidate()
  }

  /// What another library has put there gets what no virtual time takes.
  @Test func aHookOfGlobalJobsThatWasThereIsKept() async {
    await #expect(processExitsWith: .success) { try await keepAHook() }
  }

  @Test func seedsAreNumberedFromOne() async {
    await #expect(processExitsWith: .success) {
      unsetenv("RLK_SEED")
      precondition(VirtualTime.seeds(3) == [1, 2, 3] && VirtualTime.seeds(1) == [1] && VirtualTime.seeds(0) == [1])
      setenv("RLK_SEED", "0", 1)
      precondition(VirtualTime.seeds(3) == [0])
      // Of a longer test on another machine.
      for seed in [4, 1_000_000, .max] as [UInt64] {
        setenv("RLK_SEED", "\(seed)", 1)
        precondition(VirtualTime.seeds(3) == [seed])
      }
    }
  }

  @Test func aSeedIsANumber() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      setenv("RLK_SEED", "-1", 1)
      _ = VirtualTime.seeds(3)
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("RLK_SEED=-1: a seed is a whole number from 0 on"))
  }

  @Test func threadsToo() async throws {
    func order(_ seed: UInt64?) async throws -> [String] {
      try await VirtualTime.run(seed: seed) { time in
        let log = Log()
        let threads = (0..<5).map { number in time.start { log.append("\(number)") } }
        for thread in threads { thread.join() }
        return log.all
      }
    }
    #expect(try await order(nil) == ["0", "1", "2", "3", "4"])
    var orders: Set<[String]> = []
    for seed in 1...10 as ClosedRange<UInt64> {
      let first = try await order(seed)
      #expect(try await order(seed) == first)
      orders.insert(first)
    }
    #expect(orders.count > 3)
  }

  /// Also the last one of those that could.
  @Test func test_RLK_KERNEL_8_ofTwoJobsEachGoesFirstBySomeSeed() async throws {
    var orders: Set<[String]> = []
    for seed in 1...20 as ClosedRange<UInt64> {
      let order = try await VirtualTime.run(seed: seed) { _ throws -> [String] in
        let (loop, log) = (RunLoop.current, Log())
        for name in ["a", "b"] { Task(executorPreference: loop.executor) { log.append(name) } }
        #expect(try loop.run(for: .seconds(1)) == .finished)
        return log.all
      }
      orders.insert(order)
    }
    #expect(orders == [["a", "b"], ["b", "a"]])
  }
}

private func keepAHook() async throws {
  precondition(test_count_global_jobs() == 1)
  try await VirtualTime.run(seed: 1) { _ in }
  let before = test_global_jobs()
  await Task.detached {}.value
  precondition(test_global_jobs() > before)
}

private actor Book {
  private var names: [String] = []
  func write(_ name: String) { names.append(name) }
}
