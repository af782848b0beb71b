import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// What a run waits for comes in a run that is nested far above it: its own wait, which follows, does not block.
@Suite struct NestedEndTests {
  /// Before the next wait of the loop: calls `body` in a block of a run in a block of a run, so many levels deep.
  private static func nest(_ depth: Int, in loop: RunLoop, _ body: @escaping @Sendable () -> Void) throws {
    @Sendable func descend(_ left: Int) {
      guard left > 1 else { return body() }
      try? loop.enqueue { descend(left - 1) }
      _ = try? loop.run(for: .zero)
    }
    try loop.add(RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in descend(depth) })
  }

  @Test(arguments: 1...3) func test_RLK_MSG_28_theAnswerOfARequest(depth: Int) async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      let results = Mutex<[RunLoop.RunResult?]>([])
      let port = RunLoop.Port(replying: { _, message in message })
      try loop.add(port)
      try Self.nest(depth, in: loop) {
        for _ in 0..<2 {  // the request, and its answer
          let result = try? loop.run(for: .zero, returnAfterSourceHandled: true)
          results.withLock { $0.append(result) }
        }
      }
      #expect(try port.sendRight.request(RunLoop.Message(id: 5), timeout: .seconds(1000)).id == 5)
      #expect(results.withLock { $0 } == [.handledSource, .handledSource])
      #expect(time.now == start)
    }
  }

  @Test(arguments: 1...3) func test_RLK_UNTIL_3_aConditionThatAWakeHasAnnounced(depth: Int) async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      let isMet = Atomic(false)
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
      try Self.nest(depth, in: loop) {
        isMet.store(true, ordering: .relaxed)
        loop.wakeUp()
        _ = try? loop.run(for: .zero)
      }
      #expect(try loop.run(until: isMet.load(ordering: .relaxed), timeout: .seconds(1000)) == .met)
      #expect(time.now == start)
    }
  }
}
