import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What another thread asks of a loop is a source that was handled; a block is not. The recipes are those of the tutorials.
final class SourcePerformTests: XCTestCase {
  /// A thread that runs as the tutorials have it: an empty port, and a flag that a perform clears.
  private final class Worker: @unchecked Sendable {
    private var keep = true
    private(set) var results: [RunLoop.RunResult] = []
    let loop = Box<RunLoop?>(nil)
    private var thread: TestThread?

    init() {
      let isReady = Gate()
      thread = TestThread { [self] in
        let own = RunLoop.current
        try! own.add(RunLoop.Port { _, _ in })
        loop.value = own
        isReady.open()
        while keep { results.append(try! own.run(in: .default, returnAfterSourceHandled: true)) }
      }
      isReady.wait()
    }

    func end() { keep = false }
    func join() { thread?.join() }
  }

  func test_RLK_PERFORM_1_performAndWaitEndsTheLoopThatLooksAtAFlag() throws {
    let worker = Worker()
    try worker.loop.value!.performAndWait {}
    try worker.loop.value!.performAndWait { worker.end() }
    worker.join()
    XCTAssertFalse(worker.results.isEmpty)
    XCTAssertEqual(Set(worker.results), [.handledSource])
  }

  func test_RLK_PERFORM_2_aPerformAsASourceEndsItToo() throws {
    let (worker, order) = (Worker(), Box<[Int]>([]))
    for number in 0..<3 {
      try worker.loop.value!.performAsSource { order.update { $0.append(number) } }
    }
    try worker.loop.value!.performAsSource(in: "another", .common) { worker.end() }
    worker.join()
    XCTAssertEqual(order.value, [0, 1, 2])
    XCTAssertEqual(Set(worker.results), [.handledSource])
    XCTAssertEqual(thrown { try worker.loop.value!.performAsSource {} }, .loopEnded)
  }

  func test_RLK_PERFORM_3_aPerformOnAResidentThreadEndsARunNestedThere() throws {
    let (thread, isIn, result) = (RunLoop.Thread(name: "resident"), Gate(), Box<RunLoop.RunResult?>(nil))
    try thread.start()
    try thread.perform {
      isIn.open()
      result.value = try? RunLoop.current.run(in: .default, for: .seconds(100), returnAfterSourceHandled: true)
    }
    isIn.wait()
    try thread.perform {}
    thread.stop()
    try thread.join()
    XCTAssertEqual(result.value, .handledSource)
  }

  func test_RLK_PERFORM_4_aBlockIsNoSource() {
    onThread {
      let (loop, calls) = (RunLoop.current, Box(0))
      try loop.add(RunLoop.Timer.never())
      for isEnqueued in [false, true] {
        if isEnqueued {
          try loop.enqueue { calls.update { $0 += 1 } }
        } else {
          try loop.perform { calls.update { $0 += 1 } }
        }
        try loop.enqueue { loop.stop() }
        XCTAssertEqual(try loop.run(in: .default, returnAfterSourceHandled: true), .stopped)
      }
      XCTAssertEqual(calls.value, 2)
      // What has run counts for its own run alone.
      try loop.performAsSource {
        try? loop.performAsSource {}
        XCTAssertEqual(try? loop.run(in: .default, for: .zero, returnAfterSourceHandled: true), .handledSource)
      }
      XCTAssertEqual(try loop.run(in: .default, for: .zero, returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(try loop.run(in: .default, for: .zero, returnAfterSourceHandled: true), .timedOut)
    }
  }

  /// Not for the next run, nor for one inside of it: whoever has posted it, and whether or not its own run returns.
  func test_RLK_PERFORM_4_aPerformCountsOnceAndForItsRunAlone() {
    let posts: [(RunLoop, @escaping @Sendable () -> Void) throws -> Void] = [
      { loop, block in try loop.performAsSource(block: block) },
      { loop, block in
        TestThread { _ = try? loop.performAndWait(block: block) }.detach()
        yieldUntil(!loop.isEmpty(in: .default))
      },
    ]
    for post in posts {
      for isReturning in [true, false] {
        onThread {
          let (loop, inner) = (RunLoop.current, Box<RunLoop.RunResult?>(nil))
          let run: @Sendable (Bool) throws -> RunLoop.RunResult = { isReturning in
            try loop.run(for: .zero, returnAfterSourceHandled: isReturning)
          }
          try post(loop) {
            try? loop.perform {}
            inner.value = try? run(true)
          }
          XCTAssertEqual(try run(isReturning), isReturning ? .handledSource : .timedOut)
          XCTAssertEqual(inner.value, .timedOut)
          try loop.perform {}
          XCTAssertEqual(try run(true), .timedOut)
        }
      }
    }
  }

  func test_RLK_PERFORM_5_itKeepsItsModesUntilItHasRun() {
    onThread {
      let (loop, calls) = (RunLoop.current, Box(0))
      try loop.performAsSource(in: "m", "n") { calls.update { $0 += 1 } }
      XCTAssertFalse(loop.isEmpty(in: "m") || loop.isEmpty(in: "n"))
      XCTAssertEqual(try loop.run(in: "n"), .finished)
      XCTAssertTrue(loop.isEmpty(in: "m") && loop.isEmpty(in: "n"))
      XCTAssertEqual(calls.value, 1)
    }
  }
}

/// A block that will never run tells its poster: one of the two, once.
final class DropTests: XCTestCase {
  private final class Calls: @unchecked Sendable {
    let (ran, dropped) = (Box(0), Box(0))
    func run() { ran.update { $0 += 1 } }
    @Sendable func drop() { dropped.update { $0 += 1 } }
    var both: [Int] { [ran.value, dropped.value] }
  }

  func test_RLK_DROP_1_theEndOfTheLoopDropsWhatWaits() throws {
    let calls = Calls()
    onThread {
      let loop = RunLoop.current
      try loop.perform(in: .default, block: calls.run, onDrop: calls.drop)
      try loop.performAsSource(block: calls.run, onDrop: calls.drop)
      try loop.run(for: .zero)
      XCTAssertEqual(calls.both, [2, 0])
      try loop.perform(in: "never", block: calls.run, onDrop: calls.drop)
      try loop.perform(in: "never", "nor this", block: calls.run, onDrop: calls.drop)
      try loop.performAsSource(in: "never", block: calls.run, onDrop: calls.drop)
      try loop.perform(after: .seconds(1000), block: calls.run, onDrop: calls.drop)
    }
    XCTAssertEqual(calls.both, [2, 4])
    let thread = RunLoop.Thread(name: "drops")
    try thread.start()
    try thread.perform(in: "never", block: calls.run, onDrop: calls.drop)
    try thread.perform(block: calls.run, onDrop: calls.drop)
    thread.stop()
    XCTAssertEqual(thrown { try thread.perform(block: calls.run, onDrop: calls.drop) }, .loopEnded)
    try thread.join()
    XCTAssertEqual(calls.both, [3, 5])
    let loop = thread.loop!
    XCTAssertEqual(thrown { try loop.perform(in: .default, block: calls.run, onDrop: calls.drop) }, .loopEnded)
    XCTAssertEqual(thrown { try loop.performAsSource(block: calls.run, onDrop: calls.drop) }, .loopEnded)
    XCTAssertEqual(thrown { try loop.performAsSource(in: "m", "n", block: calls.run, onDrop: calls.drop) }, .loopEnded)
    XCTAssertEqual(
      thrown { _ = try loop.perform(after: .zero, block: calls.run, onDrop: calls.drop) }, .loopEnded)
    XCTAssertEqual(calls.both, [3, 5])
  }

  func test_RLK_DROP_2_aDelayedPerformThatIsCancelledOrWhoseTimerIsInvalidatedIsDropped() {
    let calls = Calls()
    onThread {
      let loop = RunLoop.current
      let handle = try loop.perform(after: .seconds(1000), block: calls.run, onDrop: calls.drop)
      XCTAssertTrue(handle.cancel())
      XCTAssertFalse(handle.cancel())
      XCTAssertEqual(calls.both, [0, 1])
      try loop.perform(after: .seconds(1000), target: loop, block: calls.run, onDrop: calls.drop)
      XCTAssertEqual(loop.cancelPerforms(target: loop), 1)
      XCTAssertEqual(calls.both, [0, 2])
      let last = try loop.perform(after: .seconds(1000), block: calls.run, onDrop: calls.drop)
      for item in loop.items() { item.invalidate() }
      XCTAssertFalse(last.isPending)
      XCTAssertEqual(calls.both, [0, 3])
      let done = try loop.perform(after: .zero, block: calls.run, onDrop: calls.drop)
      XCTAssertEqual(try loop.run(), .finished)
      XCTAssertFalse(done.cancel())
    }
    XCTAssertEqual(calls.both, [1, 3])
  }

  func test_RLK_DROP_2_theEndOfTheLoopDropsInTheOrderOfAsking() {
    let dropped = Box<[Int]>([])
    onThread {
      let (loop, targets) = (RunLoop.current, (0..<3).map { _ in Calls() })
      for number in 0..<30 {
        try loop.perform(after: .seconds(1000 - number), target: number % 4 == 3 ? nil : targets[number % 4]) {
          XCTFail("it ran")
        } onDrop: {
          dropped.update { $0.append(number) }
        }
      }
    }
    XCTAssertEqual(dropped.value, Array(0..<30))
  }

  /// Threads post while the loop's thread ends: each block is run, dropped or refused. Some of each in every round.
  func test_RLK_DROP_3_neverBothAndNeverNeither() {
    let (calls, refused, rounds) = (Calls(), Box(0), 50)
    @Sendable func post(_ body: () throws -> Void) {
      do { try body() } catch { refused.update { $0 += 1 } }
    }
    for _ in 0..<rounds {
      let (own, isReady) = (Box<RunLoop?>(nil), Gate())
      let owner = TestThread {
        own.value = RunLoop.current
        let keeper = RunLoop.Source { _ in }
        _ = try? RunLoop.current.add(keeper)
        isReady.open()
        XCTAssertEqual(try? RunLoop.current.run(for: .seconds(30)), .stopped)
      }
      isReady.wait()
      let loop = own.value!
      post { try loop.perform(in: "never", block: calls.run, onDrop: calls.drop) }
      let posters = (0..<3).map { kind in
        TestThread {
          for number in 0..<20 {
            @Sendable func run() {
              calls.run()
              if kind == 0, number == 9 { loop.stop() }
            }
            post {
              switch kind {
              case 0: try loop.perform(in: .default, block: run, onDrop: calls.drop)
              case 1: try loop.performAsSource(block: run, onDrop: calls.drop)
              default: try loop.perform(after: .zero, block: run, onDrop: calls.drop)
              }
            }
          }
        }
      }
      for thread in posters + [owner] { thread.join() }
      post { try loop.performAsSource(block: calls.run, onDrop: calls.drop) }
    }
    XCTAssertEqual(calls.ran.value + calls.dropped.value + refused.value, rounds * 62)
    XCTAssertTrue(calls.ran.value >= rounds * 10 && calls.dropped.value >= rounds && refused.value >= rounds)
  }

  /// `start` waits, so async code cannot call it.
  private func startedThread() throws -> RunLoop.Thread {
    let thread = RunLoop.Thread(name: "server")
    try thread.start()
    return thread
  }

  /// The advice of `performAndWait` to tasks.
  func test_RLK_DROP_4_aContinuationIsResumedWhateverBecomesOfTheLoop() async throws {
    @Sendable func answer(on loop: RunLoop, in mode: RunLoop.Mode = .default) async throws -> Int {
      try await withCheckedThrowingContinuation { continuation in
        do {
          try loop.performAsSource(in: mode) {
            continuation.resume(returning: 7)
          } onDrop: {
            continuation.resume(throwing: RunLoopError.loopEnded)
          }
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
    let server = try startedThread()
    let loop = server.loop!
    let first = try await answer(on: loop)
    XCTAssertEqual(first, 7)
    // It waits in a mode that never runs, until the loop ends.
    let waiting = Task { try await answer(on: loop, in: "never") }
    while loop.isEmpty(in: "never") { await Task.yield() }
    server.stop()
    switch await waiting.result {
    case .success: XCTFail("it has run")
    case .failure(let error): XCTAssertEqual(error as? RunLoopError, .loopEnded)
    }
    do {
      _ = try await answer(on: loop)
      XCTFail("it was accepted")
    } catch {
      XCTAssertEqual(error as? RunLoopError, .loopEnded)
    }
  }
}
