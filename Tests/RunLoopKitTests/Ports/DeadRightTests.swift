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
      XCTAssertEqual(try right.request(Message(id: 1, bytes: "well")).bytes, "well")
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
      let answer = try onward.request(Message(id: 1, [.right(dead)]))
      XCTAssertFalse(answer.rights[0].isValid)
      serving.stop()
      port.invalidate()
    }
    withExtendedLifetime(server) {}
  }
}
