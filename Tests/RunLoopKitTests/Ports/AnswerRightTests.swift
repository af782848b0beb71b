import CRunLoopCore
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Rights to answer another process: passed on, dropped, given back by what could not be sent, used by tasks.
final class AnswerRightTests: XCTestCase {
  /// A request that waits for its answer on a connection of its own, and what its receiver has got.
  private final class Asked {
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

  func test_RLK_WIRE_20_whatFailsForOtherReasons_leavesTheRightToAnswer() {
    onThread {
      var policy = RunLoop.PeerPolicy.sameUser
      policy.unreadBytes = 100_000
      let (receiver, asked) = (try RawReceiver(accepting: policy), try Asked())
      let (right, reply) = (receiver.right, asked.message.reply!)
      let large = Message.Bytes([UInt8](repeating: 1, count: 150_000))
      try right.trySend(Message(bytes: large))
      func check(_ message: Message, _ errors: (now: RunLoopError, soon: RunLoopError), line: UInt = #line) {
        XCTAssertEqual(thrown { try right.trySend(message) }, errors.now, line: line)
        XCTAssertTrue(reply.isValid, line: line)
        XCTAssertEqual(thrown { try right.send(message, timeout: .zero) }, errors.soon, line: line)
        XCTAssertTrue(reply.isValid, line: line)
      }
      check(Message([.bytes(large), .right(reply)]), (.portFull, .timedOut))  // unread bytes
      let many = try (0..<253).map { _ in Message.Component.descriptor(try .init(duplicating: 0)) }
      check(Message(many + [.right(reply)]), (.tooManyDescriptors, .tooManyDescriptors))
      let most = [Message.Component](repeating: .bytes(""), count: 1025)
      check(Message(most + [.right(reply)]), (.messageTooLarge, .messageTooLarge))
      let count = receiver.fill()
      check(Message([.right(reply)]), (.portFull, .timedOut))
      XCTAssertGreaterThan(count, 0)
      try reply.send(Message(id: 5))
      XCTAssertEqual(try asked.answer().id, 5)
      receiver.end()
    }
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
