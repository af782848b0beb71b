import CRunLoopCore
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// A right to answer whose message could not be sent after the asker was introduced.
final class ReturnedRightTests: XCTestCase {
  /// The asker has been introduced by then: the right has the connection that was made for the receiver.
  func test_RLK_WIRE_20_whatFailsAfterAnIntroduction_leavesTheRightToAnswer() {
    onThread {
      let (receiver, asked, told) = (try RawReceiver(), try AnswerRightTests.Asked(), Box(0))
      let (owner, narrow) = try Self.rightThatTakesLittle(receiver)
      let reply = asked.message.reply!
      let words = "\(reply)"
      reply.onInvalidation { told.value += 1 }
      let message = Self.largeMessage(reply)
      for _ in 1...3 {
        XCTAssertEqual(thrown { try narrow.trySend(message) }, .messageTooLarge)
        XCTAssertTrue(reply.isValid)
        XCTAssertEqual("\(reply)", words)
      }
      XCTAssertEqual(told.value, 0)
      try reply.send(Message(id: 5))
      XCTAssertEqual(try asked.answer().id, 5)
      XCTAssertEqual(thrown { try reply.trySend(Message()) }, .portInvalid)
      XCTAssertEqual(told.value, 1)
      withExtendedLifetime(owner) { receiver.end() }
    }
  }

  /// It is observed still, on a connection that no loop reads.
  func test_RLK_WIRE_9_observersOfARightToAnswerThatCameBack_areTold() {
    onThread {
      let (receiver, asker, isTold) = (try RawReceiver(), try RawReceiver(), Gate())
      let (owner, narrow) = try Self.rightThatTakesLittle(receiver)
      let reply = try asker.nextReply(6)
      reply.onInvalidation { isTold.open() }
      asker.leaveModes()
      let message = Self.largeMessage(reply)
      XCTAssertEqual(thrown { try narrow.trySend(message) }, .messageTooLarge)
      XCTAssertTrue(reply.isValid)
      let (file, _) = asker.peer.receiveFile()
      shutdown(file, Int32(SHUT_RDWR))
      XCTAssertTrue(isTold.wait(atMost: 20))
      XCTAssertFalse(reply.isValid)
      close(file)
      withExtendedLifetime(owner) { for side in [receiver, asker] { side.end() } }
    }
  }

  /// Each such connection is one of those that the peer may have.
  func test_RLK_WIRE_20_aRightToAnswerComesBack_onAConnectionThatThePeerMayHave() {
    onThread {
      for isTooMany in [false, true] {
        var policy = RunLoop.PeerPolicy.sameUser
        policy.perPeer.connections = isTooMany ? 1 : 2
        let (receiver, asker) = (try RawReceiver(), try RawReceiver(accepting: policy))
        let (owner, narrow) = try Self.rightThatTakesLittle(receiver)
        let reply = try asker.nextReply(6)
        let message = Self.largeMessage(reply)
        XCTAssertEqual(thrown { try narrow.trySend(message) }, .messageTooLarge)
        XCTAssertEqual(reply.isValid, !isTooMany)
        XCTAssertEqual(asker.port.peerStatistics.connections, isTooMany ? 1 : 2)
        withExtendedLifetime(owner) { for side in [receiver, asker] { side.end() } }
      }
    }
  }

  /// It comes back to be dropped: who has asked learns of it.
  func test_RLK_WIRE_20_aRightToAnswerThatCameBack_isDropped() {
    onThread {
      let (receiver, asker) = (try RawReceiver(), try RawReceiver())
      let (owner, narrow) = try Self.rightThatTakesLittle(receiver)
      do {
        let reply = try asker.nextReply(6)
        let message = Self.largeMessage(reply)
        XCTAssertEqual(thrown { try narrow.trySend(message) }, .messageTooLarge)
        withExtendedLifetime(reply) {}
      }
      let (file, introduction) = asker.peer.receiveFile()
      XCTAssertEqual(introduction[5], UInt8(RLC_FRAME_INTRODUCE.rawValue))
      XCTAssertEqual(introduction[16], 6)
      let news = RawPeer(owning: file).receive()?.bytes
      XCTAssertEqual(news?[5], UInt8(RLC_FRAME_DROP.rawValue))
      XCTAssertEqual(news?[40], 0)
      withExtendedLifetime(owner) { for side in [receiver, asker] { side.end() } }
    }
  }

  /// A right of a third process, whose end of the connection it is, and which takes no packet of 20,000 bytes.
  private static func rightThatTakesLittle(_ receiver: RawReceiver) throws -> (owner: RawPeer, right: Port.SendRight) {
    var (pair, most): ([Int32], Int32) = ([-1, -1], 4096)
    rlc_message_socket_pair(&pair)
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &most, socklen_t(MemoryLayout<Int32>.size))
    receiver.peer.send(frame(descriptors: 1, entries: [.right(0, flags: UInt8(RLC_FRAME_AS_SOCKET))]), [pair[0]])
    close(pair[0])
    return (RawPeer(owning: pair[1]), try XCTUnwrap(receiver.nextMessage().rights.first))
  }

  private static func largeMessage(_ reply: Port.SendRight) -> Message {
    Message([.bytes(Message.Bytes([UInt8](repeating: 1, count: 20_000))), .right(reply)])
  }
}
