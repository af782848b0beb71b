import CRunLoopCore
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Rights to what is gone, sent on by who got them: the `port-peer` that echoes them must live.
final class DeadRightTests: XCTestCase {
  /// Each number is one that the peer was never given, in each place that a right may have.
  func test_RLK_PEER_16_rightsThatNobodyHas_areEchoed() {
    let name = NameFolder.newName()
    let server = Peer("serve", name)
    onThread {
      let friend = try Port.connect(to: name)
      let peer = RawPeer(name)
      let yours = UInt8(RLC_FRAME_YOURS)
      let once = UInt8(RLC_FRAME_ONCE)
      for (number, flags) in [(77, yours), (.max, yours), (78, yours | once), (0, yours | once)] as [(UInt64, UInt8)] {
        peer.send(
          frame(
            id: 1,
            entries: [.right(5, flags: once | UInt8(RLC_FRAME_REPLY)), .right(number, flags: flags), .right(6)]))
        guard let answer = peer.receive() else { return XCTFail("the server has ended: \(server.wait())") }
        XCTAssertEqual(answer.bytes[5], UInt8(RLC_FRAME_MESSAGE.rawValue))
        XCTAssertEqual(answer.bytes[12], 2, "both rights come back")
      }
      // As the right to answer: there is nobody to answer to.
      peer.send(frame(id: 1, entries: [.right(79, flags: yours | once | UInt8(RLC_FRAME_REPLY))]))
      XCTAssertEqual(try friend.request(Message(id: 1, bytes: "well")).bytes, "well")
    }
  }

  /// Without malice: the port goes while its right is on its way back.
  func test_RLK_WIRE_23_aRightToAPortThatIsGone_comesBackAndIsSentOn() {
    let name = NameFolder.newName()
    let server = Peer("serve", name)
    onThread {
      let right = try Port.connect(to: name)
      let second = try right.request(Message(id: 6)).rights[0]
      XCTAssertTrue(second.isValid)
      try right.send(Message(id: 7))
      let answer: Message
      do { answer = try right.request(Message(id: 1, [.right(second), .bytes("x")])) } catch {
        return XCTFail("\(error): the server has ended: \(server.wait())")
      }
      XCTAssertEqual(answer.components.count, 2)
      XCTAssertFalse(answer.rights[0].isValid)
      XCTAssertEqual(thrown { try answer.rights[0].send(Message()) }, .portInvalid)
      let told = Box(0)
      answer.rights[0].onInvalidation { told.value += 1 }
      XCTAssertEqual(told.value, 1)
      XCTAssertEqual(try right.request(Message(id: 1, bytes: "well")).bytes, "well")
    }
  }

  /// Who has got the right finds that at once.
  func test_RLK_WIRE_23_anIntroductionToAPortThatIsGone_isTheEndOfItsSocket() {
    onThread {
      let receiver = try RawReceiver()
      var pair: [Int32] = [-1, -1]
      rlc_message_socket_pair(&pair)
      receiver.peer.send(frame(kind: RLC_FRAME_INTRODUCE, to: 99, descriptors: 1), [pair[0]])
      close(pair[0])
      XCTAssertNil(RawPeer(owning: pair[1]).receive())
      XCTAssertEqual(receiver.port.peerStatistics.introductions, 0)
      XCTAssertNil(thrown { try receiver.right.trySend(Message()) })
      receiver.end()
    }
  }

  /// The port has gone, or its process. The message is sent, and who gets it finds the end of the socket.
  func test_RLK_WIRE_23_aRightThatHasDied_isPassedOn() {
    let ends: [@Sendable (RawReceiver) -> Void] = [
      { $0.peer.send(frame(kind: RLC_FRAME_DEAD, entries: [.right(5)])) },
      { shutdown($0.peer.descriptor, Int32(SHUT_RDWR)) },
    ]
    onThread {
      for (index, end) in ends.enumerated() {
        let (owner, receiver) = (try RawReceiver(), try RawReceiver())
        var rights = [owner.right]
        if index == 1 { rights.append(try owner.nextReply(6)) }
        end(owner)
        yieldUntil(!owner.right.isValid)
        for right in rights {
          XCTAssertNil(thrown { try receiver.right.send(Message(id: 3, [.right(right)])) })
          let (socket, packet) = receiver.peer.receiveFile()
          XCTAssertEqual(packet[8], 3)
          if index == 0 { XCTAssertFalse(isReadable(owner.peer.descriptor)) }  // nobody is introduced to it
          XCTAssertNil(RawPeer(owning: socket).receive())
        }
        for side in [owner, receiver] { side.end() }
      }
    }
  }

  /// The same between two connections: the right names nobody there either.
  func test_RLK_WIRE_24_aRightThatWasDeadWhenItCame_isSentToAThirdProcess() {
    let (name, other) = (NameFolder.newName(), NameFolder.newName())
    let server = Peer("serve", other)
    onThread {
      let onward = try Port.connect(to: other)
      let (came, gate) = (Box<Message?>(nil), Gate())
      let port = try Port(registeredAs: name) { _, message in
        came.value = message
        gate.open()
      }
      let serving = ServingThread(port)
      let peer = RawPeer(name)
      peer.send(frame(id: 4, entries: [.right(9, flags: UInt8(RLC_FRAME_YOURS))]))
      gate.wait()
      let dead = came.value!.rights[0]
      XCTAssertFalse(dead.isValid)
      let told = Box(0)
      dead.onInvalidation { told.value += 1 }
      XCTAssertEqual(told.value, 1)
      let answer = try onward.request(Message(id: 1, [.right(dead)]))
      XCTAssertFalse(answer.rights[0].isValid)
      serving.stop()
      port.invalidate()
    }
    withExtendedLifetime(server) {}
  }
}
