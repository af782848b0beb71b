import AsyncAlgorithms
import RunLoopKit
import Testing

/// In real time, on the pool's threads; Samples/algorithms is the same in virtual time.
struct AlgorithmsTests {
  @Test func mergeLosesNothing() async throws {
    let thread = RunLoop.Thread(name: "merged")
    try await thread.start()
    let loop = thread.loop!
    let pairs = (1...3).map { _ in loop.messages(queueLimit: 4) }
    async let sent: Void = withThrowingTaskGroup(of: Void.self) { senders in
      for (number, pair) in pairs.enumerated() {
        let right = pair.right
        senders.addTask {
          for id in 0..<100 { try await right.send(RunLoop.Message(id: UInt32(1000 * number + id))) }
        }
      }
      try await senders.waitForAll()
    }
    var came: [[UInt32]] = [[], [], []]
    for try await message in merge(pairs[0].messages, pairs[1].messages, pairs[2].messages).prefix(300) {
      came[Int(message.id / 1000)].append(message.id % 1000)
    }
    try await sent
    #expect(came == Array(repeating: Array(0..<100), count: 3))
    thread.stop()
    try await thread.join()
  }

  @Test func theEndOfALoopEndsAMerge() async throws {
    let thread = RunLoop.Thread(name: "ends")
    try await thread.start()
    let loop = thread.loop!
    let ((first, one), (second, other)) = (loop.messages(), loop.messages())
    try await first.send(RunLoop.Message(id: 1))
    var ids: [UInt32] = []
    await #expect(throws: RunLoopError.loopEnded) {
      for try await message in merge(one, other) {
        ids.append(message.id)
        thread.stop()
      }
    }
    #expect(ids == [1])
    withExtendedLifetime((first, second)) {}
    try await thread.join()
  }

  @Test func cancellationEndsADebounce() async throws {
    let thread = RunLoop.Thread(name: "debounced")
    try await thread.start()
    let loop = thread.loop!
    let (right, messages) = loop.messages()
    try await right.send(RunLoop.Message(id: 1))
    let task = Task {
      for try await _ in messages.debounce(for: .seconds(3600), clock: loop.clock) { return "an element" }
      return "the end"
    }
    task.cancel()
    #expect(try await task.value == "the end")  // as algorithms have it
    withExtendedLifetime(right) {}
    thread.stop()
    try await thread.join()
  }
}
