import CRunLoopCore
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Rights to answer another process: passed on, dropped, given back by what could not be sent, used by tasks.
final class AnswerRightTests: XCTestCase {
  /// A request that waits for its answer on a connection of its own, and what its receiver has got.
  final class Asked {
    let message: Message
    let port: Port
    private let serving: ServingThread
    private let asker: TestThread
    private let outcome = Box<Result<Message, any Error>?>(nil)

    init() throws {
      let (name, kept, came) = (NameFolder.newName(), Box<Message?>(nil), Gate())
      port = try Port(registeredAs: name) { _, message in
        kept.value = message
        came.open()
      }
      serving = ServingThread(port)
      let (right, outcome) = (try Port.connect(to: name), outcome)
      asker = TestThread {
        outcome.value = Result { try right.request(Message(id: 1, bytes: "asked"), timeout: .seconds(20)) }
      }
      came.wait()
      message = kept.value!
      kept.value = nil
    }

    /// What has come of it.
    func answer() throws -> Message {
      asker.join()
      serving.stop()
      port.invalidate()
      return try outcome.value!.get()
    }
  }

  /// The right moves to the new connection. The first one has it no longer, and the third process reports its fate.
  func test_RLK_WIRE_10_aRightToAnswerThatWasPassedOn_isDroppedByTheThird() {
    onThread {
      let receiver = try RawReceiver()
      let asker = TestThread {
        XCTAssertEqual(thrown { try receiver.right.request(Message(id: 3), timeout: .seconds(20)) }, .noReply)
      }
      let request = receiver.peer.receive()!.bytes
      let number = request[40..<48].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      var pair: [Int32] = [-1, -1]
      rlc_message_socket_pair(&pair)
      receiver.peer.send(frame(kind: RLC_FRAME_INTRODUCE, to: number, descriptors: 1), [pair[0]])
      close(pair[0])
      let third = RawPeer(owning: pair[1])
      XCTAssertEqual(third.receive()?.bytes[5], UInt8(RLC_FRAME_DROP.rawValue))  // the owner's mark
      receiver.peer.send(frame(id: 9, to: number))
      let news = receiver.peer.receive()?.bytes
      XCTAssertEqual(news?[5], UInt8(RLC_FRAME_DEAD.rawValue))
      XCTAssertEqual(news.map { Array($0[40..<48]) }, Array(request[40..<48]))
      third.send(frame(kind: RLC_FRAME_DROP, entries: [.right(0, count: 1)]))
      asker.join()
      receiver.end()
    }
  }

  /// It comes as a socket. Who has asked gets the answer, or learns that there is none, and then the end of the socket.
  func test_RLK_WIRE_10_aRightToAnswerThatCameFromAThird_isUsedOnce() {
    onThread {
      let receiver = try RawReceiver()
      for isAnswered in [true, false] {
        var pair: [Int32] = [-1, -1]
        rlc_message_socket_pair(&pair)
        let flags = UInt8(RLC_FRAME_AS_SOCKET | RLC_FRAME_ONCE | RLC_FRAME_REPLY)
        let asker = RawPeer(owning: pair[1])
        do {
          let reply = try receiver.nextReply(0, flags: flags, [pair[0]])
          XCTAssertEqual("\(reply)", "<send right to an answer to another process>")
          if isAnswered {
            try reply.send(Message(id: 4))
            XCTAssertEqual(thrown { try reply.trySend(Message(id: 5)) }, .portInvalid)
          }
          withExtendedLifetime(reply) {}
        }
        close(pair[0])
        let news = asker.receive()?.bytes
        XCTAssertEqual(news?[5], UInt8((isAnswered ? RLC_FRAME_MESSAGE : RLC_FRAME_DROP).rawValue))
        XCTAssertEqual(news?[8], isAnswered ? 4 : 0)
        XCTAssertEqual(news?[12], isAnswered ? 0 : 1)
        while let packet = asker.receive() { XCTAssertEqual(packet.bytes[5], UInt8(RLC_FRAME_DROP.rawValue)) }
      }
      receiver.end()
    }
  }

  /// The wait has ended, and the thread asks again.
  func test_RLK_WIRE_10_whoHasBeenAskedLearns_thatNoThreadWaitsAnyMore() {
    onThread {
      let receiver = try RawReceiver()
      for _ in 0..<2 {
        XCTAssertEqual(thrown { try receiver.right.request(Message(id: 3), timeout: .milliseconds(1)) }, .timedOut)
        let (request, news) = (receiver.peer.receive()!.bytes, receiver.peer.receive()!.bytes)
        XCTAssertEqual(request[5], UInt8(RLC_FRAME_MESSAGE.rawValue))
        XCTAssertEqual(news[5], UInt8(RLC_FRAME_DEAD.rawValue))
        XCTAssertEqual(news[40..<48], request[40..<48])
      }
      receiver.end()
    }
  }

  /// Nothing else is sent on the connection, neither then nor later.
  func test_RLK_WIRE_10_aRightToAnswerThatIsDroppedWithoutRoom_goesBackWhenThereIsSome() {
    onThread {
      let receiver = try RawReceiver()
      var reply: Port.SendRight? = try receiver.nextReply(6)
      let count = receiver.fill()
      XCTAssertTrue(reply!.isValid)
      reply = nil
      receiver.takeMessages(count)
      let news = receiver.peer.receive()?.bytes
      XCTAssertEqual(news?[5], UInt8(RLC_FRAME_DROP.rawValue))
      XCTAssertEqual(news?[40], 6)
      receiver.end()
    }
  }

  /// In a message of a thread or of a task, back to where it came from or to a third process.
  func test_RLK_WIRE_10_aRightToAnswerThatWasSentOn_isUsedUp() async throws {
    for (isTask, isBack) in [(false, false), (false, true), (true, false), (true, true)] {
      let (asker, third, told) = (try RawReceiver(), try RawReceiver(), Box(0))
      let reply = try asker.nextReply(6)
      reply.onInvalidation { told.value += 1 }
      XCTAssertEqual(asker.port.peerTables.imports, 2)
      let (receiver, message) = (isBack ? asker : third, Message(id: 9, [.right(reply)]))
      if isTask {
        try await receiver.right.send(message)
      } else {
        XCTAssertNil(thrown { try receiver.right.send(message) })
      }
      XCTAssertFalse(reply.isValid)
      XCTAssertEqual(told.value, 1)
      XCTAssertEqual(thrown { try reply.trySend(Message()) }, .portInvalid)
      XCTAssertEqual(asker.port.peerTables.imports, 1)  // the right to its port
      if !isBack {
        let introduction = asker.peer.receive()?.bytes
        XCTAssertEqual(introduction?[5], UInt8(RLC_FRAME_INTRODUCE.rawValue))
        XCTAssertEqual(introduction?[16], 6)
      }
      let packet = receiver.peer.receive()
      XCTAssertEqual(packet?.bytes[8], 9)
      XCTAssertEqual(packet?.descriptors, isBack ? 0 : 1)
      for side in [asker, third] { side.end() }
    }
  }

  /// It is used, or not awaited any more, or its process has ended.
  func test_RLK_WIRE_9_observersOfARightToAnswer_areToldOfEachEnd() {
    let ends: [@Sendable (RawReceiver, Port.SendRight) throws -> Void] = [
      { _, reply in try reply.send(Message()) },
      { asker, _ in asker.peer.send(frame(kind: RLC_FRAME_DEAD, entries: [.right(6)])) },
      { asker, _ in shutdown(asker.peer.descriptor, Int32(SHUT_RDWR)) },
    ]
    onThread {
      for (index, end) in ends.enumerated() {
        let (asker, told, isTold) = (try RawReceiver(), Box(0), Gate())
        let reply = try asker.nextReply(6)
        reply.onInvalidation {
          told.value += 1
          isTold.open()
        }
        let cancelled = reply.onInvalidation { XCTFail("an observer that was cancelled: \(index)") }
        cancelled.cancel()
        XCTAssertTrue(reply.isValid)
        try end(asker, reply)
        guard isTold.wait(atMost: 20) else { return XCTFail("nobody is told: \(index)") }
        XCTAssertFalse(reply.isValid)
        XCTAssertEqual(thrown { try reply.trySend(Message()) }, .portInvalid)
        reply.onInvalidation { told.value += 1 }  // at once
        XCTAssertEqual(told.value, 2)
        asker.end()
      }
    }
  }

  /// It has come with an answer, from a third process: no port of the receiver's has its connection.
  func test_RLK_WIRE_9_observersOfARightToAnswer_areToldWhereNoLoopReads() {
    onThread {
      let (asker, name, isTold) = (try RawReceiver(), NameFolder.newName(), Gate())
      let reply = try asker.nextReply(6)
      let port = try Port(registeredAs: name) { _, message in try? message.reply?.send(Message([.right(reply)])) }
      let serving = ServingThread(port)
      let rights = try Port.connect(to: name).request(Message(), timeout: .seconds(20)).rights
      let (file, _) = asker.peer.receiveFile()
      XCTAssertTrue(rights[0].isValid)
      rights[0].onInvalidation { isTold.open() }
      shutdown(file, Int32(SHUT_RDWR))
      XCTAssertTrue(isTold.wait(atMost: 20))
      XCTAssertFalse(rights[0].isValid)
      close(file)
      serving.stop()
      port.invalidate()
      asker.end()
    }
  }

  func test_RLK_WIRE_20_whatFailsForOtherReasons_leavesTheRightToAnswer() {
    onThread {
      var policy = RunLoop.PeerPolicy.sameUser
      policy.unreadBytes = 100_000
      let (receiver, asked) = (try RawReceiver(accepting: policy), try Asked())
      let (right, reply) = (receiver.right, asked.message.reply!)
      let large = Message.Bytes([UInt8](repeating: 1, count: 150_000))
      try right.trySend(Message(bytes: large))
      func check(_ message: Message, _ errors: (now: RunLoopError, soon: RunLoopError), line: UInt = #line) {
        let sockets = openSockets()
        XCTAssertEqual(thrown { try right.trySend(message) }, errors.now, line: line)
        XCTAssertTrue(reply.isValid, line: line)
        XCTAssertEqual(thrown { try right.send(message, timeout: .zero) }, errors.soon, line: line)
        XCTAssertTrue(reply.isValid, line: line)
        XCTAssertEqual(openSockets().subtracting(sockets), [], "somebody is introduced", line: line)
        XCTAssertEqual(asked.port.peerTables.connections, 1, "the asker is introduced", line: line)
      }
      check(Message([.bytes(large), .right(reply)]), (.portFull, .timedOut))  // unread bytes
      let many = try (0..<253).map { _ in Message.Component.descriptor(try .init(duplicating: 0)) }
      check(Message(many + [.right(reply)]), (.tooManyDescriptors, .tooManyDescriptors))
      let full = try RawReceiver()
      let second = try full.nextReply(6)
      XCTAssertGreaterThan(full.fill(), 0)
      check(Message([.right(full.right)], reply: reply), (.portFull, .timedOut))  // it would be introduced
      check(Message([.right(reply), .right(second)]), (.portFull, .timedOut))  // both askers would be
      check(Message([.right(second)], reply: reply), (.portFull, .timedOut))
      XCTAssertTrue(second.isValid)
      check(Message([.right(reply), .right(reply)]), (.portInvalid, .portInvalid))
      check(AnswerRightTests.messageWithADescriptorTwice(reply), (.system(EBADF), .system(EBADF)))
      let most = [Message.Component](repeating: .bytes(""), count: 1025)
      check(Message(most + [.right(reply)]), (.messageTooLarge, .messageTooLarge))
      let count = receiver.fill()
      check(Message([.right(reply)]), (.portFull, .timedOut))
      XCTAssertGreaterThan(count, 0)
      try reply.send(Message(id: 5))
      XCTAssertEqual(try asked.answer().id, 5)
      for side in [receiver, full] { side.end() }
    }
  }

  private static func messageWithADescriptorTwice(_ reply: Port.SendRight) -> Message {
    let descriptor = Message.Component.descriptor(try! Message.Descriptor(duplicating: 0))
    return Message([descriptor, descriptor, .right(reply)])
  }

  /// The same for a task; and the descriptor is the sender's.
  func test_RLK_ASYNC_13_whatATaskCannotSend_leavesTheRightToAnswer() async throws {
    let (receiver, asked) = (try RawReceiver(), try Asked())
    let reply = try XCTUnwrap(asked.message.reply)
    let message = AnswerRightTests.messageWithADescriptorTwice(reply)
    let (right, sockets) = (receiver.right, openSockets())
    let end = await Task { try await right.send(message) }.result
    XCTAssertThrowsError(try end.get()) { XCTAssertEqual($0 as? RunLoopError, .system(EBADF)) }
    XCTAssertGreaterThanOrEqual(message.descriptors[0].fileDescriptor, 0)
    XCTAssertTrue(reply.isValid)
    XCTAssertEqual(openSockets().subtracting(sockets), [])
    XCTAssertEqual(asked.port.peerTables.connections, 1)  // the asker is not introduced
    try await reply.send(Message(id: 5))
    XCTAssertEqual(try asked.answer().id, 5)
    receiver.end()
  }

  /// Two rights, and the connection to the second asker is full: neither is used while the task waits for room there.
  func test_RLK_ASYNC_13_aTaskThatWaitsForRoomAtOneAsker_leavesTheRightToAnswerTheOther() async throws {
    let (receiver, full, asked) = (try RawReceiver(), try RawReceiver(), try Asked())
    let (reply, second) = (try XCTUnwrap(asked.message.reply), try full.nextReply(6))
    let (right, count, sockets) = (receiver.right, full.fill(), openSockets())
    let message = Message(id: 9, [.right(reply), .right(second)])
    let end = await Task { try await right.send(message, timeout: .milliseconds(1)) }.result
    XCTAssertThrowsError(try end.get()) { XCTAssertEqual($0 as? RunLoopError, .timedOut) }
    XCTAssertTrue(reply.isValid && second.isValid)
    XCTAssertEqual(openSockets().subtracting(sockets), [])
    XCTAssertEqual(asked.port.peerTables.connections, 1)
    let sending = Task.immediate { try await right.send(message) }
    full.takeMessages(count)
    try await sending.value
    XCTAssertEqual(receiver.peer.receive()?.descriptors, 2)
    XCTAssertFalse(reply.isValid || second.isValid)
    XCTAssertThrowsError(try asked.answer())  // the receiver has closed its end
    for side in [receiver, full] { side.end() }
  }

  /// The port that got the request is gone; the connection stays for the answer.
  func test_RLK_WIRE_10_aRequestThatWasTaken_isAnsweredAfterTheEndOfItsPort() {
    onThread {
      let asked = try Asked()
      asked.port.invalidate()
      try asked.message.reply!.send(Message(id: 5, bytes: "late"))
      let answer = try asked.answer()
      XCTAssertEqual(answer.id, 5)
      XCTAssertEqual(answer.bytes, "late")
    }
  }

  /// Its right to answer goes without itself.
  func test_RLK_ASYNC_11_aMessageGoesBackAsItCame() async throws {
    let task = try Asked()
    try await task.message.reply!.send(task.message)
    XCTAssertEqual(try task.answer().bytes, "asked")
    let thread = try Asked()
    XCTAssertNil(thrown { try thread.message.reply!.send(thread.message) })
    XCTAssertEqual(try thread.answer().bytes, "asked")
    let limited = try Asked()
    try await limited.message.reply!.send(limited.message, timeout: .seconds(20))
    XCTAssertEqual(try limited.answer().bytes, "asked")
  }

  /// By a task that is cancelled, or in time no more.
  func test_RLK_ASYNC_13_anAnswerThatIsNotSent_canBeSentLater() async throws {
    let receiver = try RawReceiver()
    let reply = try receiver.nextReply(6)
    let count = receiver.fill()
    for isCancelled in [true, false] {
      let task = Task.immediate {
        try await reply.send(Message(id: 4), timeout: isCancelled ? nil : .milliseconds(1))
      }
      if isCancelled { task.cancel() }
      let end = await task.result
      XCTAssertThrowsError(try end.get()) { error in
        XCTAssertTrue(isCancelled ? error is CancellationError : error as? RunLoopError == .timedOut, "\(error)")
      }
      XCTAssertTrue(reply.isValid)
    }
    receiver.takeMessages(count)
    try await reply.send(Message(id: 5))
    let answer = receiver.peer.receive()?.bytes
    XCTAssertEqual(answer?[8], 5)
    XCTAssertEqual(answer?[16], 6)
    XCTAssertFalse(reply.isValid)
    receiver.end()
  }
}
