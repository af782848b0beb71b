import Glibc
import RunLoopKit
import RunLoopTestSupport
import XCTest

import class RunLoopKit.RunLoop

/// Tasks that send to a port, and wait for room without their thread. A `Task.immediate` waits when its creation returns.
final class AsyncSendTests: XCTestCase {
  func test_RLK_ASYNC_11_aTaskGoesOnWhenThereIsRoom() async throws {
    let ids = Box<[UInt32]>([])
    let port = Port(queueLimit: 1) { _, message in ids.update { $0.append(message.id) } }
    let right = port.sendRight
    try await right.send(Message(id: 1))
    let waiting = Task.immediate { try await right.send(Message(id: 2)) }
    XCTAssertEqual(port.mailbox.waitingCount, 1)
    XCTAssertEqual(thrown { try right.trySend(Message()) }, .portFull)
    let serving = ServingThread(port)
    try await waiting.value
    try await right.send(Message(id: 3), timeout: .seconds(60))
    await yieldUntil(ids.value.count == 3)
    XCTAssertEqual(ids.value, [1, 2, 3])
    XCTAssertEqual(port.mailbox.waitingCount, 0)
    serving.stop()
  }

  /// A right to answer always has room.
  func test_RLK_ASYNC_11_aTaskAnswersARequestOfItsProcess() async throws {
    let port = Port { _, message in
      let (reply, id) = (message.reply!, message.id)
      Task { try? await reply.send(Message(id: id * 2)) }
    }
    let serving = ServingThread(port)
    let answer = try await port.sendRight.request(Message(id: 21), timeout: .seconds(60))
    XCTAssertEqual(answer.id, 42)
    serving.stop()
  }

  /// The thread that serves the port sends to it: the other form would wait for itself.
  func test_RLK_ASYNC_11_aTaskOnThePortsOwnLoopMayWait() async throws {
    let ids = Box<[UInt32]>([])
    let port = Port(queueLimit: 1) { _, message in ids.update { $0.append(message.id) } }
    let right = port.sendRight
    let serving = ServingThread(port)
    try await Task(executorPreference: serving.loop.executor) {
      for id in 1...100 { try await right.send(Message(id: UInt32(id))) }
    }.value
    await yieldUntil(ids.value.count == 100)
    XCTAssertEqual(ids.value, (1...100).map { $0 })
    serving.stop()
  }

  func test_RLK_ASYNC_12_tasksThatWaitAreALine() async throws {
    let ids = Box<[UInt32]>([])
    let port = Port(queueLimit: 2) { _, message in ids.update { $0.append(message.id) } }
    let right = port.sendRight
    for id in 0..<2 { try right.trySend(Message(id: UInt32(id))) }
    let tasks = (2..<50).map { id in Task.immediate { try await right.send(Message(id: UInt32(id))) } }
    XCTAssertEqual(port.mailbox.waitingCount, 48)
    let serving = ServingThread(port)
    for task in tasks { try await task.value }
    await yieldUntil(ids.value.count == 50)
    XCTAssertEqual(ids.value, (0..<50).map { $0 })
    serving.stop()
  }

  /// Every other room is a thread's, as long as threads wait, however many tasks do. (A thread that is awake may take
  /// one more.)
  func test_RLK_ASYNC_12_threadsTakeTurnsWithTheLine() async throws {
    let ids = Box<[UInt32]>([])
    let port = Port(queueLimit: 1) { _, message in ids.update { $0.append(message.id) } }
    let right = port.sendRight
    try right.trySend(Message(id: 0))
    let threads = [100, 101, 102].map { (id: UInt32) in TestThread { try! right.send(Message(id: id)) } }
    await yieldUntil(port.mailbox.waitingCount == 3)
    let tasks = (1...20).map { id in Task.immediate { try await right.send(Message(id: UInt32(id))) } }
    XCTAssertEqual(port.mailbox.waitingCount, 23)
    let serving = ServingThread(port)
    for task in tasks { try await task.value }
    for thread in threads { thread.join() }
    await yieldUntil(ids.value.count == 24)
    let ofThreads = ids.value.indices.filter { ids.value[$0] >= 100 }
    XCTAssertEqual(ofThreads.first, 1)
    for (place, most) in zip(ofThreads, [1, 3, 5]) { XCTAssertLessThanOrEqual(place, most) }
    XCTAssertEqual(ids.value.filter { $0 < 100 }, (0...20).map { $0 })
    serving.stop()
  }

  func test_RLK_ASYNC_13_whatIsNotSentIsTheSenders() async throws {
    let ids = Box<[UInt32]>([])
    let port = Port(queueLimit: 1) { _, message in ids.update { $0.append(message.id) } }
    let right = port.sendRight
    try right.trySend(Message(id: 0))
    let descriptors = try (0..<4).map { _ in try Message.Descriptor(duplicating: 0) }
    let tasks = descriptors.enumerated().map { index, descriptor in
      Task.immediate { try await right.send(Message(id: UInt32(index), [.descriptor(descriptor)])) }
    }
    tasks[1].cancel()
    let error = await tasks[1].result
    XCTAssertThrowsError(try error.get()) { XCTAssertTrue($0 is CancellationError) }
    XCTAssertGreaterThanOrEqual(descriptors[1].fileDescriptor, 0)
    // Taken while it waits: the next in line has its room.
    close(try descriptors[0].take())
    let serving = ServingThread(port)
    await outcome(of: tasks[0], is: .system(EBADF))
    for task in tasks[2...] { try await task.value }
    for descriptor in descriptors[2...] { XCTAssertEqual(descriptor.fileDescriptor, -1) }
    await yieldUntil(ids.value.count == 3)
    XCTAssertEqual(ids.value, [0, 2, 3])
    serving.stop()
    // The port is gone with its loop.
    await outcome(of: Task { try await right.send(Message([.descriptor(descriptors[1])])) }, is: .portInvalid)
    XCTAssertGreaterThanOrEqual(descriptors[1].fileDescriptor, 0)
  }

  func test_RLK_ASYNC_14_aTaskThatIsCancelledSendsNothing() async throws {
    let port = Port(queueLimit: 2) { _, _ in }
    let right = port.sendRight
    let early = Task {
      while !Task.isCancelled { await Task.yield() }
      try await right.send(Message())
    }
    early.cancel()
    await outcome(of: early, is: nil)
    XCTAssertEqual(port.pendingCount, 0)
    for _ in 0..<2 { try await right.send(Message(), timeout: .zero) }
    let tasks = (0..<3).map { _ in Task.immediate { try await right.send(Message()) } }
    for task in [tasks[1], tasks[0], tasks[2]] { task.cancel() }
    for task in tasks { await outcome(of: task, is: nil) }
    await outcome(of: Task { try await right.send(Message(), timeout: .zero) }, is: .timedOut)
    await outcome(of: Task { try await right.send(Message(), timeout: .seconds(-1)) }, is: .timedOut)
    await outcome(of: Task { try await right.send(Message(), timeout: .milliseconds(1)) }, is: .timedOut)
    XCTAssertEqual(port.mailbox.waitingCount, 0)
    XCTAssertEqual(port.pendingCount, 2)
  }

  /// It is invalidated, released, or its loop ends.
  func test_RLK_ASYNC_15_whenThePortEnds_theLineIsTold() async throws {
    for way in 0..<3 {
      let thread = RunLoop.Thread(name: "serving")
      try await thread.start()
      var port: Port? = Port(queueLimit: 1) { _, _ in XCTFail("its mode never runs") }
      let right = port!.sendRight
      if way == 2 { try thread.loop!.add(port!, to: "never") }
      try right.trySend(Message())
      let tasks = (0..<3).map { _ in Task.immediate { try await right.send(Message(), timeout: .seconds(600)) } }
      switch way {
      case 0: port!.invalidate()
      case 1: port = nil
      default: thread.stop(.now)
      }
      for task in tasks { await outcome(of: task, is: .portInvalid) }
      withExtendedLifetime(port) {}
      thread.stop()
      try await thread.join()
    }
  }

  func test_RLK_ASYNC_16_aTaskGetsItsAnswer() async throws {
    let port = Port(queueLimit: 1, replying: { Message(id: $1.id * 2, $1.components) })
    let right = port.sendRight
    try right.trySend(Message())
    let first = Task.immediate { try await right.request(Message(id: 4, bytes: "waits for room")) }
    XCTAssertEqual(port.mailbox.waitingCount, 1)
    let serving = ServingThread(port)
    let answer = try await first.value
    XCTAssertEqual(answer.id, 8)
    XCTAssertEqual(answer.bytes, "waits for room")
    for id in 1...50 {
      let id = UInt32(id)
      let answer = try await right.request(Message(id: id), timeout: id % 2 == 0 ? .seconds(60) : nil)
      XCTAssertEqual(answer.id, id * 2)
    }
    // On the very thread that answers.
    let own = Task(executorPreference: serving.loop.executor) { try await right.request(Message(id: 5)).id }
    let ownID = try await own.value
    XCTAssertEqual(ownID, 10)
    serving.stop()
  }

  func test_RLK_ASYNC_17_whoDoesNotWaitAnyMore_hasNoAnswer() async throws {
    let (begun, mayEnd, kept) = (Gate(), Gate(), Box<Port.SendRight?>(nil))
    let replying = Port(replying: {
      kept.value = $1.reply
      begun.open()
      mayEnd.wait()
      return Message()
    })
    let serving = ServingThread(replying)
    let right = replying.sendRight
    let cancelled = Task.immediate { _ = try await right.request(Message()) }
    begun.wait()
    cancelled.cancel()
    await outcome(of: cancelled, is: nil)
    XCTAssertEqual(kept.value?.isValid, false)
    XCTAssertEqual(thrown { try kept.value!.trySend(Message()) }, .portInvalid)
    mayEnd.open()
    await yieldUntil(replying.undeliveredReplies == 1)
    let late = Task { _ = try await right.request(Message(), timeout: .milliseconds(1)) }
    await outcome(of: late, is: .timedOut)
    begun.wait()
    mayEnd.open()
    await yieldUntil(replying.undeliveredReplies == 2)
    serving.stop()
    // In line: it is not sent.
    let full = Port(queueLimit: 1) { _, _ in }
    try full.sendRight.trySend(Message())
    let waiting = Task.immediate { _ = try await full.sendRight.request(Message()) }
    waiting.cancel()
    await outcome(of: waiting, is: nil)
    XCTAssertEqual(full.mailbox.waitingCount, 0)
    XCTAssertEqual(full.pendingCount, 1)
  }

  func test_RLK_ASYNC_18_aRightToAnswerThatIsDropped_tellsTheTask() async throws {
    let silent = Port(queueLimit: 1, replying: { _, _ in nil })
    let right = silent.sendRight
    try right.trySend(Message())
    let first = Task.immediate { _ = try await right.request(Message()) }  // from the line
    let serving = ServingThread(silent)
    await outcome(of: first, is: .noReply)
    await outcome(of: Task { _ = try await right.request(Message()) }, is: .noReply)
    serving.stop()
    await outcome(of: Task { _ = try await right.request(Message()) }, is: .portInvalid)
    // The port goes with one request in its queue, and one in line.
    for isLoopsEnd in [false, true] {
      let thread = RunLoop.Thread(name: "serving")
      try await thread.start()
      let port = Port(queueLimit: 1) { _, _ in }
      let right = port.sendRight
      try thread.loop!.add(port, to: "never")
      let queued = Task.immediate { _ = try await right.request(Message()) }
      let inLine = Task.immediate { _ = try await right.request(Message()) }
      if isLoopsEnd { thread.stop(.now) } else { port.invalidate() }
      await outcome(of: queued, is: .noReply)
      await outcome(of: inLine, is: .portInvalid)
      thread.stop()
      try await thread.join()
    }
  }

  /// Sends, requests, cancellations, limits, answers that nobody gives, and the port's end, at moments that a seed
  /// decides: every task goes on, once, and what arrives is what was sent.
  func test_RLK_ASYNC_19_everySenderGoesOnOnce() async throws {
    for seed in 0..<20 { try await sendAtRandom(SplitMix(UInt64(seed))) }
  }

  private func sendAtRandom(_ seeded: SplitMix) async throws {
    var random = seeded
    let (arrived, sent, refused) = (Box<[UInt32]>([]), Box<Set<UInt32>>([]), Box<Set<UInt32>>([]))
    let port = Port(
      queueLimit: 1 + random.below(3),
      replying: { _, message in
        arrived.update { $0.append(message.id) }
        return message.id % 3 == 0 ? nil : Message(id: message.id)
      })
    let right = port.sendRight
    let serving = ServingThread()
    var tasks: [Task<String, Never>] = []
    let (start, end) = (random.below(40), random.isOne(in: 2) ? 45 + random.below(30) : Int.max)
    for index in 0..<80 {
      if index == start { serving.add(port) }
      if index == end { if random.isOne(in: 2) { port.invalidate() } else { serving.stop() } }
      let (id, isRequest) = (UInt32(index), random.isOne(in: 2))
      let limit: Duration? = random.isOne(in: 3) ? .microseconds(random.below(300)) : nil
      let body = { @Sendable () async -> String in
        do {
          if isRequest {
            _ = try await right.request(Message(id: id), timeout: limit)
          } else {
            try await right.send(Message(id: id), timeout: limit)
          }
          sent.update { _ = $0.insert(id) }
          return "sent"
        } catch {
          if !isRequest { refused.update { _ = $0.insert(id) } }
          return error is CancellationError ? "cancelled" : "\(error)"
        }
      }
      tasks.append(random.isOne(in: 2) ? Task { await body() } : Task.immediate { await body() })
      if random.isOne(in: 4) { tasks[random.below(tasks.count)].cancel() }
    }
    let known = ["sent", "cancelled"] + [RunLoopError.timedOut, .portInvalid, .noReply].map { "\($0)" }
    for (id, task) in tasks.enumerated() {
      let outcome = await task.value
      XCTAssertTrue(known.contains(outcome), outcome)
      if outcome == RunLoopError.noReply.description { sent.update { _ = $0.insert(UInt32(id)) } }
    }
    XCTAssertEqual(port.mailbox.waitingCount, 0)
    await yieldUntil(port.pendingCount == 0)
    serving.stop()
    XCTAssertEqual(Set(arrived.value).count, arrived.value.count)
    XCTAssertTrue(refused.value.isDisjoint(with: arrived.value))
    if end > 80 { XCTAssertTrue(sent.value.isSubset(of: arrived.value)) }
  }

  /// Nil: cancelled.
  private func outcome<R>(
    of task: Task<R, any Error>, is error: RunLoopError?, file: StaticString = #filePath, line: UInt = #line
  ) async {
    switch await task.result {
    case .success: XCTFail("no error", file: file, line: line)
    case .failure(is CancellationError): XCTAssertNil(error, file: file, line: line)
    case .failure(let failure): XCTAssertEqual(failure as? RunLoopError, error, file: file, line: line)
    }
  }
}
