import Glibc
import RunLoopKit
import RunLoopPorts
import RunLoopTestSupport
import XCTest

import class RunLoopKit.RunLoop

/// Tasks that send to other processes, and ask them. A `Task.immediate` waits when its creation returns.
final class AsyncPeerTests: XCTestCase {
  /// What a task has thrown, by name.
  private func outcome<R>(of task: Task<R, any Error>) async -> String {
    switch await task.result {
    case .success: "done"
    case .failure(is CancellationError): "cancelled"
    case .failure(let error as RunLoopError): AsyncPeerTests.names[error] ?? "\(error)"
    case .failure(let error): "\(error)"
    }
  }

  private static let names: [RunLoopError: String] = [
    .timedOut: "late", .portInvalid: "gone", .noReply: "no reply",
  ]

  /// Fills the connection of a port that nobody reads: the number of messages that it takes, which is the id of the next.
  private func fill(_ right: Port.SendRight, isPeers: Bool = true) -> UInt32 {
    var count: UInt32 = 0
    while thrown({ try right.trySend(Message(id: isPeers ? 12 : count, bytes: bytes)) }) == nil { count += 1 }
    return count
  }

  private func isStopped(_ peer: Peer) -> Bool { state(of: "\(peer.processID)") == "T" }

  private let bytes = Message.Bytes([UInt8](repeating: 1, count: 10_000))

  func test_RLK_ASYNC_20_aTaskAsksAnotherProcess_andNeedsNoLoop() async throws {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    defer { withExtendedLifetime(peer) {} }
    let right = try Port.connect(to: name)
    for id: UInt32 in 12..<60 {
      let answer = try await right.request(Message(id: id, bytes: "x"), timeout: id % 2 == 0 ? .seconds(60) : nil)
      XCTAssertEqual(answer.id, id)
      XCTAssertEqual(answer.bytes, "x")
      XCTAssertEqual(answer.sender?.processID, peer.processID)
    }
    let tasks = (0..<50).map { _ in Task { try await right.request(Message(id: 12)) } }
    for task in tasks { _ = try await task.value }
    let descriptor = try Message.Descriptor(duplicating: 0)
    let large = Message.Bytes([UInt8](repeating: 3, count: 200_000))
    let answer = try await right.request(Message(id: 1, [.descriptor(descriptor), .bytes(large)]))
    XCTAssertEqual(answer.descriptors.count, 1)
    XCTAssertEqual(answer.bytes, large)
    XCTAssertEqual(descriptor.fileDescriptor, -1)
    // It keeps the right to answer, until it is told to drop it.
    let kept = Task.immediate { try await right.request(Message(id: 4)) }
    try await right.send(Message(id: 5))
    let dropped = await outcome(of: kept)
    XCTAssertEqual(dropped, "no reply")
    let late = await outcome(of: Task { try await right.request(Message(id: 4), timeout: .milliseconds(1)) })
    XCTAssertEqual(late, "late")
    // A thread and a task on one connection.
    let thread = TestThread { for _ in 0..<50 { _ = try! right.request(Message(id: 1)) } }
    for _ in 0..<50 { _ = try await right.request(Message(id: 1)) }
    thread.join()
  }

  /// The answer comes from a third process, on a connection of its own.
  func test_RLK_ASYNC_20_anAnswerOfAThirdProcess() async throws {
    let names = [NameFolder.newName(), NameFolder.newName()]
    let peers = names.map { Peer("serve", $0) }
    defer { withExtendedLifetime(peers) {} }
    let rights = try names.map { try Port.connect(to: $0) }
    let answer = try await rights[0].request(Message(id: 8, [.right(rights[1])]))
    XCTAssertEqual(answer.id, 13)
    XCTAssertEqual(answer.sender?.processID, peers[1].processID)
    // The third does not read: the message to the first waits for the introduction.
    let before = filesBesideLoops()
    try rights[1].trySend(Message(id: 10))
    await yieldUntil(isStopped(peers[1]))
    _ = fill(rights[1])
    let waiting = Task.immediate { try await rights[0].request(Message(id: 8, [.right(rights[1])])) }
    let withdrawn = Task.immediate { try await rights[0].request(Message(id: 8, [.right(rights[1])])) }
    withdrawn.cancel()
    let end = await outcome(of: withdrawn)
    XCTAssertEqual(end, "cancelled")
    // The others on that connection go on.
    let others = (0..<3).map { _ in
      Task.immediate { try await rights[0].request(Message(id: 12), timeout: .seconds(30)) }
    }
    for task in others {
      let end = await outcome(of: task)
      XCTAssertEqual(end, "done")
    }
    peers[1].send(SIGCONT)
    let second = try await waiting.value
    XCTAssertEqual(second.id, 13)
    try settle(among: before) { for right in rights { _ = try right.request(Message(id: 1)) } }
  }

  /// It waits aside for a third process that does not read.
  func test_RLK_ASYNC_22_theEndOfTheReceiver_isToldToWhoWaitsForAThirdProcess() async throws {
    let names = [NameFolder.newName(), NameFolder.newName()]
    let peers = names.map { Peer("serve", $0) }
    defer { withExtendedLifetime(peers) {} }
    let rights = try names.map { try Port.connect(to: $0) }
    try rights[1].trySend(Message(id: 10))
    await yieldUntil(isStopped(peers[1]))
    _ = fill(rights[1])
    let watched = rights[0].onInvalidation {}
    let message = Message(id: 8, [.right(rights[1])])
    let sending = Task.immediate { try await rights[0].send(message, timeout: .seconds(60)) }
    peers[0].kill()
    let end = await outcome(of: sending)
    XCTAssertEqual(end, "gone")
    withExtendedLifetime(watched) {}
  }

  func test_RLK_ASYNC_21_tasksThatWaitForOneConnection_areALine() async throws {
    let (name, ids) = (NameFolder.newName(), Box<[UInt32]>([]))
    let port = try Port(registeredAs: name, queueLimit: 4) { _, message in ids.update { $0.append(message.id) } }
    let right = try Port.connect(to: name)
    let (count, bytes) = (fill(right, isPeers: false), bytes)
    let descriptor = try Message.Descriptor(duplicating: 0)
    let tasks = (0..<80).map { index in
      Task.immediate { try await right.send(Message(id: count + UInt32(index), bytes: bytes)) }
    }
    let late = await outcome(
      of: Task { try await right.send(Message([.bytes(bytes), .descriptor(descriptor)]), timeout: .milliseconds(1)) })
    XCTAssertEqual(late, "late")
    for index in [0, 7, 79] {
      tasks[index].cancel()
      let end = await outcome(of: tasks[index])
      XCTAssertEqual(end, "cancelled")
    }
    XCTAssertGreaterThanOrEqual(descriptor.fileDescriptor, 0)
    let serving = ServingThread(port)
    for (index, task) in tasks.enumerated() where ![0, 7, 79].contains(index) { try await task.value }
    let wanted = (0..<count + 80).filter { ![count, count + 7, count + 79].contains($0) }
    await yieldUntil(ids.value.count == wanted.count)
    XCTAssertEqual(ids.value, wanted)
    serving.stop()
  }

  /// Nothing watches the connection meanwhile.
  func test_RLK_ASYNC_21_aConnectionThatIsFullAgain_isWatchedAgain() async throws {
    let receiver = try RawReceiver()
    let (right, before) = (receiver.right, filesBesideLoops())
    for round in 1...3 as ClosedRange<UInt32> {
      let count = receiver.fill()
      let task = Task.immediate { try await right.send(Message(id: round), timeout: .seconds(60)) }
      XCTAssertFalse(filesBesideLoops().isSubset(of: before))
      receiver.takeMessages(count)
      let end = await outcome(of: task)
      XCTAssertEqual(end, "done")
      XCTAssertEqual(receiver.peer.receive()?.bytes[8], UInt8(round))
      await yieldUntil(filesBesideLoops().isSubset(of: before))
    }
    receiver.end()
  }

  /// A message with a right to a third process's port waits for more room than others need.
  func test_RLK_ASYNC_21_whenTheFirstIsWithdrawn_theNextGoesOn() async throws {
    let names = (0..<3).map { _ in NameFolder.newName() }
    let ports = try names.map { try Port(registeredAs: $0) { _, _ in } }  // no loop serves them
    defer { withExtendedLifetime(ports) {} }
    let rights = try names.map { try Port.connect(to: $0) }
    for id in 0..<fill(rights[0]) / 2 { try rights[1].trySend(Message(id: id, bytes: bytes)) }
    let first = Task.immediate { try await rights[1].send(Message([.right(rights[2])])) }
    let next = Task.immediate { try await rights[1].send(Message(id: 2), timeout: .seconds(60)) }
    first.cancel()
    let end = await outcome(of: first)
    XCTAssertEqual(end, "cancelled")
    try await next.value
  }

  func test_RLK_ASYNC_13_betweenProcessesToo_whatIsNotSentIsTheSenders() async throws {
    let name = NameFolder.newName()
    let port = try Port(registeredAs: name) { _, _ in }  // no loop serves it: the kernel keeps what is sent
    let right = try Port.connect(to: name)
    _ = fill(right)
    let before = openFiles()
    let descriptor = try Message.Descriptor(duplicating: 0)
    let own = Port { _, _ in }
    for _ in 0..<5 {
      let message = Message([.descriptor(descriptor), .right(own.sendRight)])
      let task = Task.immediate { try await right.request(message) }
      task.cancel()
      let end = await outcome(of: task)
      XCTAssertEqual(end, "cancelled")
      XCTAssertGreaterThanOrEqual(descriptor.fileDescriptor, 0)
    }
    let invalid = Task.immediate { try await right.send(Message([.descriptor(descriptor)])) }
    port.invalidate()
    let end = await outcome(of: invalid)
    XCTAssertEqual(end, "gone")
    close(try descriptor.take())
    settle(among: before) { sched_yield() }
  }

  /// To send it on makes a connection between two other processes: not before there is room.
  func test_RLK_ASYNC_13_aRightToAnswerIsNotSpentOnAFullConnection() async throws {
    let (name, own) = (NameFolder.newName(), NameFolder.newName())
    let full = try Port(registeredAs: name) { _, _ in }  // no loop serves it
    let right = try Port.connect(to: name)
    _ = fill(right)
    let (kept, came) = (Box<Port.SendRight?>(nil), Gate())
    let port = try Port(registeredAs: own) { _, message in
      kept.value = message.reply
      came.open()
    }
    let serving = ServingThread(port)
    let asked = try Port.connect(to: own)  // keeps its connection, so that another one is counted beside it
    let asking = Task.immediate { try await asked.request(Message()) }
    came.wait()
    let (reply, sockets) = (kept.value!, openSockets())
    XCTAssertEqual(thrown { try right.trySend(Message([.right(reply)])) }, .portFull)
    XCTAssertEqual(thrown { try right.send(Message([.right(reply)]), timeout: .milliseconds(1)) }, .timedOut)
    let task = Task.immediate { try await right.send(Message([.right(reply)])) }
    task.cancel()
    let end = await outcome(of: task)
    XCTAssertEqual(end, "cancelled")
    XCTAssertTrue(reply.isValid)
    XCTAssertEqual(openSockets().subtracting(sockets), [])
    XCTAssertEqual(port.peerTables.connections, 1)
    try await reply.send(Message(id: 5))
    let answer = try await asking.value
    XCTAssertEqual(answer.id, 5)
    serving.stop()
    withExtendedLifetime((full, asked)) {}
  }

  /// The connection goes on, and has room in the end.
  func test_RLK_ASYNC_22_theEndOfOnePort_isToldToWhoWaitsInLine() async throws {
    let name = NameFolder.newName()
    let other = Port { _, _ in XCTFail("a message to a port that is gone") }
    let port = try Port(registeredAs: name) { _, message in
      try? message.reply?.send(Message([.right(other.sendRight)]))
    }
    let right = try Port.connect(to: name)
    let serving = ServingThread(port)
    let others = try await right.request(Message()).rights[0]
    serving.loop.remove(port)
    let gone = Gate()
    let observation = others.onInvalidation { gone.open() }
    _ = fill(right)
    let sending = Task.immediate { try await others.send(Message()) }
    let blocked = Box<RunLoopError?>(nil)
    let waiting = Box("")
    let thread = TestThread {
      waiting.value = ownThread()
      blocked.value = thrown { try others.send(Message()) }
    }
    await yieldUntil(waiting.value != "" && isAsleep(waiting.value))
    other.invalidate()
    gone.wait()
    serving.add(port)
    let end = await outcome(of: sending)
    XCTAssertEqual(end, "gone")
    thread.join()
    XCTAssertEqual(blocked.value, .portInvalid)
    serving.stop()
    withExtendedLifetime(observation) {}
  }

  func test_RLK_ASYNC_17_anotherProcessLearnsThatNobodyWaits() async throws {
    let (name, kept, came) = (NameFolder.newName(), Box<Port.SendRight?>(nil), Gate())
    let port = try Port(registeredAs: name) { _, message in
      kept.value = message.reply
      came.open()
    }
    let serving = ServingThread(port)
    let right = try Port.connect(to: name)
    let task = Task.immediate { try await right.request(Message()) }
    came.wait()
    XCTAssertTrue(kept.value!.isValid)
    task.cancel()
    let end = await outcome(of: task)
    XCTAssertEqual(end, "cancelled")
    await yieldUntil(!kept.value!.isValid)
    XCTAssertEqual(thrown { try kept.value!.trySend(Message()) }, .portInvalid)
    kept.value = nil
    serving.stop()
  }

  func test_RLK_ASYNC_22_theEndOfTheOtherProcess_isToldToAll() async throws {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    defer { withExtendedLifetime(peer) {} }
    let right = try Port.connect(to: name)
    let asking = (0..<3).map { _ in Task.immediate { try await right.request(Message(id: 4)) } }
    try await right.send(Message(id: 10))
    await yieldUntil(isStopped(peer))
    _ = fill(right)
    let sending = (0..<3).map { _ in Task.immediate { try await right.send(Message()) } }
    let inLine = Task.immediate { try await right.request(Message(), timeout: .seconds(600)) }
    peer.kill()
    for task in asking + [inLine] {
      let end = await outcome(of: task)
      XCTAssertEqual(end, "gone")
    }
    for task in sending {
      let end = await outcome(of: task)
      XCTAssertEqual(end, "gone")
    }
    XCTAssertFalse(right.isValid)
    let late = await outcome(of: Task { try await right.send(Message()) })
    XCTAssertEqual(late, "gone")
  }

  /// As within a process; and the peer is killed, or goes on.
  func test_RLK_ASYNC_19_betweenProcessesToo_everySenderGoesOnOnce() async throws {
    for seed in 0..<(isSlow ? 6 : 20) { try await sendAtRandom(SplitMix(UInt64(seed))) }
  }

  private func sendAtRandom(_ seeded: SplitMix) async throws {
    var random = seeded
    let name = NameFolder.newName()
    let peer = Peer("serve", name, 1 + random.below(4))
    defer { withExtendedLifetime(peer) {} }
    let right = try Port.connect(to: name)
    let large = Message.Bytes([UInt8](repeating: 2, count: 60_000))
    var tasks: [Task<Void, any Error>] = []
    let end = random.isOne(in: 2) ? random.below(120) : Int.max
    for index in 0..<120 {
      if index == end { peer.kill() }
      let (bytes, isRequest) = (random.isOne(in: 2) ? large : "small", random.isOne(in: 3))
      let limit: Duration? = random.isOne(in: 3) ? .microseconds(random.below(500)) : nil
      let body = { @Sendable () async throws -> Void in
        if isRequest {
          _ = try await right.request(Message(id: 12, bytes: bytes), timeout: limit)
        } else {
          try await right.send(Message(id: 12, bytes: bytes), timeout: limit)
        }
      }
      tasks.append(random.isOne(in: 2) ? Task { try await body() } : Task.immediate { try await body() })
      if random.isOne(in: 4) { tasks[random.below(tasks.count)].cancel() }
    }
    for task in tasks {
      let outcome = await outcome(of: task)
      XCTAssertTrue(["done", "late", "cancelled", "gone", "no reply"].contains(outcome), outcome)
    }
    if end > 120 {
      let last = try await right.request(Message(id: 77))
      XCTAssertEqual(last.id, 77)
    }
  }
}
