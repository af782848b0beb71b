import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Peers that do to their sockets what they may, and do not read.
final class HostileSocketTests: XCTestCase {
  /// What the connection was introduced with is at the peer too, who can take credentials away from it: its packets would look as
  /// if they came from this process.
  func test_RLK_PEER_11_packetsWithoutASender_onAnIntroducedConnection() {
    onThread {
      let (name, senders) = (NameFolder.newName(), Box<[Message.Sender?]>([]))
      let port = try Port(registeredAs: name) { _, message in senders.update { $0.append(message.sender) } }
      let serving = ServingThread(port)
      let peer = RawPeer(name)
      var pair: [Int32] = [-1, -1]
      rlc_message_socket_pair(&pair)
      peer.send(frame(kind: RLC_FRAME_INTRODUCE, descriptors: 1), [pair[0]])
      peer.send(frame(to: 99))
      XCTAssertNotNil(peer.receive())  // and so the introduction has been read
      var off: Int32 = 0
      for end in pair { setsockopt(end, SOL_SOCKET, SO_PASSCRED, &off, socklen_t(MemoryLayout<Int32>.size)) }
      let stranger = RawPeer(owning: pair[1])
      stranger.send(frame(id: 1))
      let same = RawPeer(owning: pair[0])
      stranger.send(frame(to: 98))  // not answered, or it would wait for that
      XCTAssertEqual(stranger.farewell(), "a packet that does not tell its sender")
      withExtendedLifetime(same) {}
      serving.stop()
      XCTAssertEqual(senders.value, [])
      port.invalidate()
    }
  }

  /// By its first packet, and nothing of that is opened; and it needs a place among the connections.
  func test_RLK_PEER_28_whoWasIntroduced_isJudged() {
    onThread {
      for isWelcome in [false, true] {
        let (name, judged, seen, reasons) = (NameFolder.newName(), Box(0), Box(0), Box<[String]>([]))
        var policy = RunLoop.PeerPolicy { _ in
          judged.value += 1
          return judged.value == 1 || isWelcome
        }
        policy.perPeer.connections = 1
        let port = try Port(
          registeredAs: name, accepting: policy, onRefusal: { refusal in reasons.update { $0.append(refusal.reason) } }
        ) { _, _ in seen.value += 1 }
        let serving = ServingThread(port)
        let peer = RawPeer(name)
        var pair: [Int32] = [-1, -1]
        rlc_message_socket_pair(&pair)
        peer.send(frame(kind: RLC_FRAME_INTRODUCE, descriptors: 1), [pair[0]])
        close(pair[0])
        let (stranger, pipe) = (RawPeer(owning: pair[1]), Pipe())
        stranger.send(frame(id: 1, descriptors: 1, entries: [.descriptor]), [pipe.writing])
        close(pipe.writing)
        let reason = isWelcome ? "too many connections: a peer may have 1" : "not allowed for user \(geteuid())"
        XCTAssertEqual(stranger.farewell(), reason)
        peer.send(frame(to: 99))
        XCTAssertEqual(peer.receive()?.bytes[40], 99)  // it goes on
        XCTAssertEqual(reasons.value, [reason])
        XCTAssertFalse(pipe.hasWriter)
        XCTAssertEqual(judged.value, 2)
        XCTAssertEqual(seen.value, 0)
        serving.stop()
        port.invalidate()
        close(pipe.reading)
      }
    }
  }

  /// Each is a packet that says so, which it does not read: memory is bounded.
  func test_RLK_PEER_12_aFloodOfRightsToAnswer_fromOneWhoDoesNotRead() {
    onThread {
      let (name, reasons) = (NameFolder.newName(), Box<[String]>([]))
      let port = try Port(registeredAs: name, onRefusal: { refusal in reasons.update { $0.append(refusal.reason) } }) {
        _, _ in
      }
      let serving = ServingThread(port)
      let friend = try Port.connect(to: name)
      let peer = RawPeer(name)
      var (status, sent, last): (Int32, Int, UInt64) = (0, 0, 0)
      while status == 0 || status == -EAGAIN, sent < 600 {
        let entries = (0..<1024).map { Entry.right(last + UInt64($0) + 1, flags: 1) }
        status = peer.send(frame(entries: entries))
        guard status == 0 else {
          XCTAssertEqual(thrown { try friend.request(Message()) }, .noReply)
          continue
        }
        last += 1024
        sent += 1
      }
      XCTAssertTrue(status == -EPIPE || status == -ECONNRESET, "\(status) after \(sent)")
      serving.stop()
      XCTAssertEqual(reasons.value, ["does not read what this process sends"])
      port.invalidate()
    }
  }

  /// The peer neither reads nor closes its end.
  func test_RLK_PEER_13_whoWaitsForRoom_isToldThatTheConnectionEnds() {
    onThread {
      let (name, given, isFull) = (NameFolder.newName(), Box<Port.SendRight?>(nil), Gate())
      let came = Gate()
      let port = try Port(registeredAs: name) { _, message in
        given.value = message.rights.first
        came.open()
      }
      let serving = ServingThread(port)
      let peer = RawPeer(name)
      peer.send(frame(entries: [.right(5)]))
      came.wait()
      let right = given.value!
      let (errors, end, thread) = (Box<RunLoopError?>(nil), Gate(), Box(""))
      let sender = TestThread {
        while thrown({ try right.trySend(Message()) }) == nil {}
        thread.value = ownThread()
        isFull.open()
        errors.value = thrown { try right.send(Message()) }
        end.open()
      }
      isFull.wait()
      yieldUntil(isAsleep(thread.value))
      peer.send([1, 2, 3])
      end.wait()
      sender.join()
      XCTAssertEqual(errors.value, .refused)
      XCTAssertEqual(errors.value?.description, "refused: the size of the packet is not what its header says")
      serving.stop()
      port.invalidate()
      withExtendedLifetime(peer) {}
    }
  }

  /// In a packet that breaks the rules later on: who has asked is told, and may do anything then.
  func test_RLK_PEER_14_aRightToAnswer_inAPacketThatIsRefused() {
    onThread {
      let (name, given, came, told) = (NameFolder.newName(), Box<Port.SendRight?>(nil), Gate(), Gate())
      let port = try Port(registeredAs: name) { port, message in
        if message.id == 50 {
          given.value = message.rights[0]
          return came.open()
        }
        message.reply!.onInvalidation {
          port.invalidate()
          told.open()
        }
        try! given.value!.send(Message(id: 52, reply: message.reply))
      }
      let serving = ServingThread(port)
      let peer = RawPeer(name)
      peer.send(frame(id: 50, entries: [.right(5)]))
      came.wait()
      let asker = TestThread {
        onThread { XCTAssertEqual(thrown { try port.sendRight.request(Message(id: 51)) }, .noReply) }
      }
      let packet = peer.receive()!.bytes
      let number = packet[40..<48].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      peer.send(frame(descriptors: 1, entries: [.right(number, flags: 2 | 8), .right(0, flags: 4)]), [0])
      asker.join()
      told.wait()
      XCTAssertFalse(port.isValid)
      serving.stop()
    }
  }

  /// It can ask for a descriptor of each packet's sender.
  func test_RLK_PEER_15_descriptorsThatNobodyHasSent() {
    onThread {
      let (name, count) = (NameFolder.newName(), Box(0))
      let port = try Port(registeredAs: name) { _, _ in count.value += 1 }
      let serving = ServingThread(port)
      let peer = RawPeer(name)
      var pair: [Int32] = [-1, -1]
      rlc_message_socket_pair(&pair)
      var on: Int32 = 1
      guard setsockopt(pair[0], SOL_SOCKET, 76, &on, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
        pair.forEach { close($0) }
        return print("skipped: the kernel has no SO_PASSPIDFD")
      }
      peer.send(frame(kind: RLC_FRAME_INTRODUCE, descriptors: 1), [pair[0]])
      let stranger = RawPeer(owning: pair[1])
      XCTAssertEqual(stranger.receive()?.bytes[5], UInt8(RLC_FRAME_DROP.rawValue))  // the owner's mark
      for number in [98, 99] as [UInt64] {
        stranger.send(frame(to: number))
        XCTAssertEqual(stranger.receive()?.bytes[40], UInt8(number))
      }
      let before = openDescriptors()
      for _ in 0..<20 { stranger.send(frame()) }
      stranger.send(frame(to: 97))
      XCTAssertEqual(stranger.receive()?.bytes[40], 97)
      XCTAssertEqual(openDescriptors(), before)
      close(pair[0])
      serving.stop()
      XCTAssertEqual(count.value, 20)
      port.invalidate()
    }
  }
}
