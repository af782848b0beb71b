import RunLoopKit
import Testing
import XCTest

import class RunLoopKit.RunLoop

private struct Failure: Error, Equatable {}

private actor Elsewhere {
  private(set) var count = 0
  func next() -> Int {
    count += 1
    return count
  }
}

/// Pinned to the loop's common modes.
private actor Runner {
  nonisolated let loop: RunLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
  private var count = 0
  init(_ loop: RunLoop) { self.loop = loop }

  func run(in mode: RunLoop.Mode) throws -> Int {
    try loop.run(in: mode) {
      self.count += 1
      return self.count
    }
  }

  func error(in mode: RunLoop.Mode) -> RunLoopError? { thrown { try run(in: mode) } }
}

private actor Plain {
  private var count = 0

  func error(on loop: RunLoop) -> RunLoopError? { thrown { try run(loop) } }

  private func run(_ loop: RunLoop) throws {
    try loop.run { self.count += 1 }
  }
}

/// Until it is cancelled.
private func untilCancelled() async {
  let (stream, end) = AsyncStream<Void>.makeStream()
  await withTaskCancellationHandler {
    for await _ in stream {}
  } onCancel: {
    end.finish()
  }
}

struct RunTaskTests {
  @Test func test_RLK_TASK_1_theFunctionRunsOnTheLoopsThread() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let elsewhere = Elsewhere()
      let ticks = Box(0)
      try loop.add(RunLoop.Timer(fireDate: .now, interval: .microseconds(100)) { _ in ticks.value += 1 })
      let answer = try loop.run {
        var places = [loop.isCurrent]
        for _ in 1...3 {
          _ = await elsewhere.next()
          places.append(loop.isCurrent)
        }
        return "\(await elsewhere.count) \(places)"
      }
      #expect(answer == "3 [true, true, true, true]")
      #expect(throws: Failure.self) { try loop.run { throw Failure() } as Void }
      // In a mode that has nothing, and is not common.
      #expect(try loop.run(in: "mine") { loop.isCurrent })
      #expect(loop.isEmpty(in: "mine"))
      #expect(thrown { try loop.run(in: .common) {} } == .commonModeNotRunnable)
    }
  }

  /// In the end of the run that it is nested in, in the same pass, and while that waits.
  @Test func test_RLK_TASK_1_aRunIsOverAlthoughAnotherOneWasAboveIt() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let log = Box<[String]>([])
      let outer: String = try loop.run {
        try! loop.perform {
          let inner: Int = try! loop.run(in: "inner") { 1 }
          log.update { $0.append("inner \(inner)") }
        }
        return "outer"
      }
      #expect(outer == "outer")
      #expect(try loop.run(for: .zero) != .stopped)
      #expect(log.value == ["inner 1"])
    }
  }

  @Test func test_RLK_TASK_2_aStopCancelsTheFunction() throws {
    try onOwnThread { (loop: RunLoop) throws in
      try loop.perform { loop.stop() }
      let answer = try loop.run {
        await untilCancelled()
        return Task.isCancelled
      }
      #expect(answer)
      #expect(try loop.run(for: .zero) == .finished)
    }
  }

  @Test func test_RLK_TASK_3_whatCouldNeverRunIsRefused() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let error = Box<RunLoopError?>(nil)
      try loop.run {
        nested(loop, error)
      }
      #expect(error.value == .wouldDeadlock)
      #expect("\(try #require(error.value))".contains("a job of the loop's executor makes the call"))
    }
  }

  /// An observer that stops each run at its entry, and a mode that has nothing else.
  @Test func test_RLK_TASK_2_aStopAtTheEntryDoesNotKeepTheFunctionFromRunning() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let entries = Box(0)
      try loop.add(
        RunLoop.Observer(.entry) { _, _ in
          entries.value += 1
          loop.stop()
        })
      #expect(try loop.run { Task.isCancelled })
      #expect(entries.value == 1)
    }
  }

  /// An actor whose executor the mode does not serve, and one whose function makes the call.
  @Test func test_RLK_TASK_3_aPinnedActorNeedsAModeThatServesIt() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let actor = Runner(loop)
      #expect(throws: RunLoopError.wouldDeadlock) { try actor.assumeIsolated { try $0.run(in: "mine") } }
      #expect(try actor.assumeIsolated { try $0.run(in: .default) } == 1)
      let error = try loop.run { await actor.error(in: "mine") }
      #expect(error == .wouldDeadlock)
    }
  }

  /// An actor without an executor of its own runs where its task prefers to, here in a run of the loop.
  @Test func test_RLK_TASK_3_anActorThatMakesTheCallIsNotWaitedFor() throws {
    try onOwnThread { (loop: RunLoop) throws in
      let actor = Plain()
      let error = try loop.run(in: "mine") { await actor.error(on: loop) }
      #expect(error == .wouldDeadlock)
    }
  }

  @Test func test_RLK_TASK_4_anEndOfTheThreadLetsTheFunctionGo() throws {
    let (error, isCancelled, isOver) = (Box<RunLoopError?>(nil), Box(false), Gate())
    let thread = RunLoop.Thread(name: "task")
    try thread.start()
    try thread.perform {
      error.value = thrown {
        try RunLoop.current.run {
          thread.stop(.now)
          await untilCancelled()
          isCancelled.value = Task.isCancelled
          isOver.open()
        }
      }
    }
    try thread.join()
    isOver.wait()
    #expect(error.value == .loopEnded)
    #expect(isCancelled.value)
  }
}

private func nested(_ loop: RunLoop, _ error: Box<RunLoopError?>) { error.value = thrown { try loop.run {} } }

/// On the main thread.
final class RunMainTaskTests: XCTestCase {
  @MainActor private static var log: [String] = []

  func test_RLK_TASK_1_aMainActorsFunctionRunsOnTheMainLoop() throws {
    try MainActor.assumeIsolated { try Self.runOnMainActor() }
  }

  @MainActor private static func runOnMainActor() throws {
    log = []
    let main = RunLoop.main
    let answer = try main.run {
      log.append("main \(main.isCurrent)")
      await Task.yield()
      log.append("main \(main.isCurrent)")
      let elsewhere = await Task.detached { main.isCurrent }.value
      log.append("elsewhere \(elsewhere)")
      return 7
    }
    XCTAssertEqual(answer, 7)
    XCTAssertEqual(log, ["main true", "main true", "elsewhere false"])
  }

  func test_RLK_TASK_3_aMainActorsFunctionNeedsAModeThatServesIt() throws {
    try MainActor.assumeIsolated { try Self.runWhereItIsNotServed() }
  }

  @MainActor private static func runWhereItIsNotServed() throws {
    let main = RunLoop.main
    func error(in mode: RunLoop.Mode) -> RunLoopError? { thrown { try main.run(in: mode) { log = [] } } }
    XCTAssertEqual(error(in: "mine"), .wouldDeadlock)
    main.servesMainQueue = false
    XCTAssertEqual(error(in: .default), .wouldDeadlock)
    main.servesMainQueue = true
    XCTAssertNil(error(in: .default))
    // In a block of the queue that the function would wait for.
    let inQueue = Box<RunLoopError?>(nil)
    try main.run {
      inQueue.value = error(in: .default)
    }
    XCTAssertEqual(inQueue.value, .wouldDeadlock)
  }

  @MainActor private static func five() -> Int { 5 }

  /// The line on standard error that names the mode, while the run waits; then a nested run serves the main queue.
  private func lineOfRun(in mode: RunLoop.Mode, body: @escaping @Sendable () async -> Int) throws -> String? {
    let (pipe, kept, line) = (Pipe(), dup(STDERR_FILENO), Box<String?>(nil))
    dup2(pipe.writing, STDERR_FILENO)
    let reader = TestThread {
      var said = ""
      while !said.contains("\"\(mode)\""), isReadable(pipe.reading, 20_000) { said += pipe.receive() }
      line.value = said.split(separator: "\n").map(String.init).first { $0.contains("\"\(mode)\"") }
      try! RunLoop.main.perform(in: mode) {
        RunLoop.main.servesMainQueue = true
        _ = try! RunLoop.main.run(in: .tracking, for: .seconds(60), returnAfterSourceHandled: true)
      }
    }
    let answer = try RunLoop.main.run(in: mode, body)
    reader.join()
    dup2(kept, STDERR_FILENO)
    close(kept)
    pipe.closeBoth()
    XCTAssertEqual(answer, 5)
    return line.value
  }

  /// Whoever awaits the main actor in a function without an isolation.
  func test_RLK_TASK_5_aRunSaysThatItDoesNotServeTheMainQueue() throws {
    let what = "for a second functions of the main dispatch queue, as the main actor's jobs are, have waited"
    let line = try lineOfRun(in: "without the main queue") { await Self.five() }
    XCTAssertTrue(try XCTUnwrap(line).contains(what), "\(line ?? "")")
    RunLoop.main.servesMainQueue = false
    let another = try lineOfRun(in: .default) { await Self.five() }
    XCTAssertTrue(try XCTUnwrap(another).contains(what), "\(another ?? "")")
  }

  /// What looks at the queue meanwhile is a member of the mode, and goes with the run.
  func test_RLK_TASK_5_aRunLeavesNothingOfItsLookAtTheQueue() throws {
    let (main, mode) = (RunLoop.main, "left as it was" as RunLoop.Mode)
    let looks: @Sendable () async -> Bool = { main.description.contains("main queue that a run does not serve") }
    XCTAssertTrue(try main.run(in: mode, looks))
    let before = openDescriptors()
    for _ in 0..<10 { XCTAssertTrue(try main.run(in: mode, looks)) }
    XCTAssertEqual(openDescriptors(), before)
    XCTAssertFalse(main.description.contains("that a run does not serve"))
  }

  /// Without an isolation it is not held up by who holds the main actor.
  func test_RLK_TASK_1_aFunctionOfNobodyRunsOnTheMainThreadToo() throws {
    let isThere = try RunLoop.main.run { RunLoop.main.isCurrent }
    XCTAssertTrue(isThere)
  }
}
