import Glibc
import RunLoopKit
import RunLoopPorts
import RunLoopTestSupport
import Testing

import class RunLoopKit.RunLoop

/// A loop of a thread, for the time of a test.
func withLoop(_ body: (RunLoop, RunLoop.Thread) async throws -> Void) async throws {
  let thread = RunLoop.Thread(name: "stream")
  try await thread.start()
  try await body(try #require(thread.loop), thread)
  thread.stop()
  try await thread.join()
}

/// Without what keeps the thread's loop running.
func members(_ loop: RunLoop) -> Int { loop.items(in: .default).count { !($0 is RunLoop.Source) } }

/// The two ends of a pipe, which are closed with their owner.
final class BytePipe: Sendable {
  let (reading, writing): (Int32, Int32)

  init() {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
    (reading, writing) = (ends[0], ends[1])
  }

  func put(_ byte: UInt8) { withUnsafeBytes(of: byte) { _ = write(writing, $0.baseAddress, 1) } }

  func take() -> UInt8? {
    var byte: UInt8 = 0
    return read(reading, &byte, 1) == 1 ? byte : nil
  }

  deinit {
    close(reading)
    close(writing)
  }
}

@Suite struct SequenceTests {
  @Test func test_RLK_STREAM_1_aTaskGetsAnElementForEachCallout() async throws {
    try await withLoop { loop, _ in
      let pipe = BytePipe()
      var bytes: [UInt8] = []
      pipe.put(1)
      for try await ready in try loop.readiness(of: pipe.reading) {
        #expect(ready == .readable)
        bytes.append(try #require(pipe.take()))
        if bytes.count == 100 { break }
        pipe.put(UInt8(bytes.count + 1))
      }
      #expect(bytes == Array(1...100))
      #expect(members(loop) == 0)
    }
  }

  /// The kernel watches no ordinary file, and not /dev/null: standard input is often one of these.
  @Test func test_readinessOfWhatTheKernelCannotWatch() async throws {
    try await withLoop { loop, _ in
      let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
      defer { close(null) }
      await #expect(throws: RunLoopError.self) { for try await _ in try loop.readiness(of: null) {} }
      var count = 0
      for try await ready in try loop.readiness(of: null, unpollable: .alwaysReady) {
        #expect(ready.contains(.readable))
        count += 1
        if count == 3 { break }
      }
      #expect(count == 3)
    }
  }

  /// A busy task: the descriptor is in no mode, and the port holds its senders back.
  @Test func test_RLK_STREAM_2_nothingIsLostAndNothingPilesUp() async throws {
    try await withLoop { loop, _ in
      let pipe = BytePipe()
      var iterator = try loop.readiness(of: pipe.reading).makeAsyncIterator()
      #expect(members(loop) == 0)
      pipe.put(7)
      #expect(try await iterator.next() == .readable)
      #expect(members(loop) == 0)
      #expect(try await iterator.next() == .readable)  // it has not been read
      #expect(pipe.take() == 7)

      let (right, messages) = loop.messages(queueLimit: 2)
      for id: UInt32 in 1...2 { try right.trySend(RunLoop.Message(id: id)) }
      #expect(throws: RunLoopError.portFull) { try right.trySend(RunLoop.Message(id: 3)) }
      let sender = TestThread { for id: UInt32 in 3...100 { try? right.send(RunLoop.Message(id: id)) } }
      var ids: [UInt32] = []
      for try await message in messages {
        ids.append(message.id)
        if ids.count == 100 { break }
      }
      #expect(ids == Array(1...100))
      sender.join()
    }
  }

  @Test func test_RLK_STREAM_3_tasksShareASequence() async throws {
    try await withLoop { loop, _ in
      let (right, messages) = loop.messages(queueLimit: 4)
      let tasks = (0..<3).map { _ in
        Task {
          var ids: [UInt32] = []
          for try await message in messages {
            if message.id == 0 { break }
            ids.append(message.id)
          }
          return ids
        }
      }
      let sender = TestThread {
        for id: UInt32 in 1...300 { try? right.send(RunLoop.Message(id: id)) }
        for _ in 0..<3 { try? right.send(RunLoop.Message(id: 0)) }
      }
      var all: [UInt32] = []
      for task in tasks {
        let ids = try await task.value
        #expect(ids == ids.sorted())
        all += ids
      }
      #expect(all.sorted() == Array(1...300))
      sender.join()
    }
  }

  @Test func test_RLK_STREAM_4_cancellingEndsAWaitAndLosesNothing() async throws {
    try await withLoop { loop, _ in
      let (right, messages) = loop.messages()
      let waiting = Task { try await messages.first { _ in true }?.id }
      await yieldUntil(members(loop) == 1)
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      #expect(members(loop) == 0 && right.isValid)
      try right.trySend(RunLoop.Message(id: 5))
      #expect(try await messages.first { _ in true }?.id == 5)
    }
  }

  @Test func test_RLK_STREAM_5_theItemsGoWithTheSequence() async throws {
    try await withLoop { loop, _ in
      var held: (right: RunLoop.Port.SendRight, messages: RunLoop.EventSequence<RunLoop.Message>)? = loop.messages()
      let right = try #require(held?.right)
      var iterator = held?.messages.makeAsyncIterator()
      held = nil
      #expect(right.isValid)
      try right.trySend(RunLoop.Message(id: 1))
      #expect(try await iterator?.next()?.id == 1)
      iterator = nil
      #expect(!right.isValid)
      // Also of a task that is cancelled in its wait, and an item that could not be made.
      let pipe = BytePipe()
      let task = Task { for try await _ in try loop.readiness(of: pipe.reading) {} }
      await yieldUntil(members(loop) == 1)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(members(loop) == 0)
      #expect(throws: RunLoopError.self) { try loop.readiness(of: -1) }
    }
  }

  /// The rights of a stream, in one place from which they go.
  private final class Rights: @unchecked Sendable {
    private let held: Box<RunLoop.Port.SendRight?>
    init(_ right: RunLoop.Port.SendRight) { held = Box(right) }
    func send(_ ids: ClosedRange<UInt32>) throws { for id in ids { try held.value?.trySend(RunLoop.Message(id: id)) } }
    func drop() { held.value = nil }
  }

  private func stream(_ loop: RunLoop, queueLimit: Int = 16) -> (Rights, RunLoop.EventSequence<RunLoop.Message>) {
    let (right, messages) = loop.messages(queueLimit: queueLimit)
    return (Rights(right), messages)
  }

  /// With room for the news of it, and without; and if it comes at any moment of a delivery.
  @Test(arguments: [3, 16]) func test_RLK_STREAM_10_messagesEndBehindTheLastRight(queueLimit: Int) async throws {
    try await withLoop { loop, _ in
      for _ in 1...50 {
        let (rights, messages) = stream(loop, queueLimit: queueLimit)
        try rights.send(1...3)
        let task = Task { try await messages.reduce(into: []) { $0.append($1.id) } }
        rights.drop()
        let ids = try await task.value
        #expect(ids == [1, 2, 3])
        let another = try await messages.first { _ in true }
        #expect(another?.id == nil)
      }
      #expect(members(loop) == 0)
    }
  }

  /// Each of the tasks that wait goes on, and nobody else is told of a message.
  @Test func test_RLK_STREAM_10_allTasksThatWaitGoOn() async throws {
    try await withLoop { loop, _ in
      let (rights, messages) = stream(loop)
      let tasks = (0..<3).map { _ in Task { try await messages.first { _ in true }?.id } }
      await yieldUntil(members(loop) == 1)
      rights.drop()
      for task in tasks {
        let id = try await task.value
        #expect(id == nil)
      }
      #expect(members(loop) == 0)
    }
  }

  /// Another process has it, until its end.
  @Test func test_RLK_STREAM_10_alsoAnotherProcesssRightKeepsThem() async throws {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    try await withLoop { loop, _ in
      let friend = try RunLoop.Port.connect(to: name)
      let messages = try await sendRight(of: loop, to: friend)
      var iterator = messages.makeAsyncIterator()
      #expect(try await iterator.next()?.id == 13)
      peer.kill()
      let another = try await iterator.next()
      #expect(another?.id == nil)
    }
  }

  /// It keeps one, and sends by it.
  private func sendRight(
    of loop: RunLoop, to friend: RunLoop.Port.SendRight
  ) async throws -> RunLoop.EventSequence<RunLoop.Message> {
    let (right, messages) = loop.messages()
    try await friend.send(RunLoop.Message(id: 4, [.right(right)]))
    try await friend.send(RunLoop.Message(id: 8, [.right(right)]))
    return messages
  }

  /// Also of a sequence that no task awaits, and of items that somebody holds.
  @Test func test_RLK_STREAM_6_theLoopsEndEndsTheWaits() async throws {
    try await withLoop { loop, thread in
      let pipe = BytePipe()
      let readiness = try loop.readiness(of: pipe.reading)
      let activities = try loop.activities(.exit, in: "never")
      let (right, messages) = loop.messages()
      let (idle, later) = loop.messages(queueLimit: 1)
      let tasks = [
        Task { for try await _ in readiness {} }, Task { for try await _ in messages {} },
        Task { for try await _ in activities {} },
      ]
      try idle.trySend(RunLoop.Message(id: 1))
      let sender = Task { try await idle.send(RunLoop.Message(id: 2)) }
      await yieldUntil(members(loop) == 2)
      let held = loop.items(in: .default) + loop.items(in: "never")
      #expect(held.count == 4)  // with what keeps the thread's loop
      thread.stop(.now)
      for task in tasks { await #expect(throws: RunLoopError.loopEnded) { try await task.value } }
      await #expect(throws: RunLoopError.portInvalid) { try await sender.value }
      #expect(!right.isValid && !idle.isValid)
      try await thread.join()
      await #expect(throws: RunLoopError.loopEnded) { for try await _ in later {} }
      await #expect(throws: RunLoopError.loopEnded) { for try await _ in readiness {} }
      #expect(throws: RunLoopError.loopEnded) { try loop.activities(.all) }
      let (dead, none) = loop.messages()
      #expect(!dead.isValid)
      await #expect(throws: RunLoopError.loopEnded) { for try await _ in none {} }
      withExtendedLifetime(held) {}
    }
  }

  /// The thread ends while a task adds and removes items.
  @Test(arguments: 0..<20) func test_RLK_STREAM_6_theLoopEndsAtAnyMoment(seed: UInt64) async throws {
    var random = SplitMix(seed)
    try await withLoop { loop, thread in
      let pipes = (0..<4).map { _ in BytePipe() }
      let tasks = pipes.map { pipe in
        Task {
          for try await _ in try loop.readiness(of: pipe.reading) { _ = pipe.take() }
        }
      }
      for _ in 0..<random.below(200) { pipes[random.below(4)].put(1) }
      thread.stop(.now)
      for task in tasks { await #expect(throws: RunLoopError.loopEnded) { try await task.value } }
    }
  }

  @Test func test_RLK_STREAM_3_tasksAreServedInTheOrderOfTheirWaits() async throws {
    try await withLoop { loop, _ in
      let (right, messages) = loop.messages()
      let other = RunLoop.Thread(name: "tasks")
      try await other.start()
      let executor = try #require(other.loop?.executor)  // runs them one after the other, up to their waits
      let got = Box<[Int: UInt32]>([:])
      let tasks = (0..<4).map { index in
        Task(executorPreference: executor) {
          var iterator = messages.makeAsyncIterator()
          let message = try await iterator.next()
          got.update { $0[index] = message?.id }
        }
      }
      await yieldUntil(members(loop) == 1)
      tasks[1].cancel()
      await #expect(throws: CancellationError.self) { try await tasks[1].value }
      for id: UInt32 in [0, 2, 3] { try right.trySend(RunLoop.Message(id: id)) }
      for index in [0, 2, 3] { try await tasks[index].value }
      #expect(got.value == [0: 0, 2: 2, 3: 3])
      other.stop()
      try await other.join()
    }
  }

  /// Tasks ask again while others are served: whoever asks between the callout's look at them and the item's leaving.
  @Test func test_RLK_STREAM_3_anEndIsForEachThatAsksAgain() async throws {
    try await withLoop { loop, _ in
      var ends: [Int32] = [-1, -1]
      precondition(pipe(&ends) == 0)
      defer { close(ends[0]) }
      close(ends[1])
      let readiness = try loop.readiness(of: ends[0])
      let tasks = (0..<3).map { _ in
        Task.detached {
          var iterator = readiness.makeAsyncIterator()
          for _ in 0..<5000 {
            let ready = try await iterator.next()
            #expect(ready == .hangup)
          }
        }
      }
      for task in tasks { try await task.value }
      #expect(members(loop) == 0)
    }
  }

  @Test func otherCodeInvalidatesTheItem() async throws {
    try await withLoop { loop, _ in
      let (right, messages) = loop.messages()
      let task = Task { for try await _ in messages {} }
      await yieldUntil(members(loop) == 1)
      for item in loop.items(in: .default) where item is RunLoop.Port { item.invalidate() }
      await #expect(throws: RunLoopError.invalidItem) { try await task.value }
      withExtendedLifetime(right) {}
    }
  }

  /// Consumers that come, are cancelled and go at moments that a seed decides: every message is received once.
  @Test(arguments: 0..<20) func test_RLK_STREAM_4_everyMessageIsReceivedOnce(seed: UInt64) async throws {
    var random = SplitMix(seed)
    try await withLoop { loop, _ in
      let (right, messages) = loop.messages(queueLimit: 3)
      let received = Box<[UInt32]>([])
      let sender = TestThread { for id: UInt32 in 1...200 { try? right.send(RunLoop.Message(id: id)) } }
      var tasks: [Task<Void, any Error>] = []
      while received.value.count < 200 {
        let count = 1 + random.below(5)
        tasks.append(
          Task {
            var iterator = messages.makeAsyncIterator()
            for _ in 0..<count {
              guard let message = try await iterator.next() else { return }
              received.update { $0.append(message.id) }
            }
          })
        if random.isOne(in: 2) { tasks[random.below(tasks.count)].cancel() }
        if random.isOne(in: 2) { await Task.yield() }
        if tasks.count > 8 {
          tasks[0].cancel()  // there may be nothing left for it
          _ = await tasks.removeFirst().result
        }
      }
      for task in tasks { task.cancel() }
      for task in tasks { _ = await task.result }
      sender.join()
      #expect(received.value.sorted() == Array(1...200))
    }
  }
}
