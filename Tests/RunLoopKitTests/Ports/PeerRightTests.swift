import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Rights that a peer has given: how they go back, and what they count meanwhile.
final class PeerRightTests: XCTestCase {
  private static let once = UInt8(RLC_FRAME_ONCE)

  private func entries(of packet: [UInt8]) -> [rlc_frame_entry] {
    packet.withUnsafeBytes { bytes in
      stride(from: 32, to: bytes.count, by: 16).map {
        bytes.loadUnaligned(fromByteOffset: $0, as: rlc_frame_entry.self)
      }
    }
  }

  /// The next packet gives the right back, so often.
  private func expectBack(_ number: UInt64, count: UInt32, _ peer: RawPeer, line: UInt = #line) {
    let packet = peer.receive()?.bytes ?? []
    XCTAssertEqual(packet.dropFirst(5).first, UInt8(RLC_FRAME_DROP.rawValue), line: line)
    let entry = entries(of: packet).first
    XCTAssertEqual(entry?.value, number, line: line)
    XCTAssertEqual(entry?.count, count, line: line)
  }

  func testTheWordsOfRights() {
    onThread {
      let receiver = try RawReceiver()
      XCTAssertEqual("\(receiver.right)", "<send right to port 5 of process \(getpid())>")
      let reply = try receiver.nextReply(6)
      XCTAssertEqual("\(reply)", "<send right to an answer to process \(getpid())>")
      try reply.send(Message())
      XCTAssertEqual("\(reply)", "<send right to an answer to process \(getpid()), invalid>")
      let (owner, toOwner) = try self.introduce(to: receiver)
      XCTAssertEqual("\(toOwner)", "<send right to port 0 of another process>")
      withExtendedLifetime(owner) { receiver.end() }
    }
  }

  /// A right to a third process's port, and that process's end of the connection.
  private func introduce(to receiver: RawReceiver) throws -> (owner: RawPeer, right: Port.SendRight) {
    var pair: [Int32] = [-1, -1]
    rlc_message_socket_pair(&pair)
    receiver.peer.send(frame(descriptors: 1, entries: [.right(0, flags: UInt8(RLC_FRAME_AS_SOCKET))]), [pair[0]])
    close(pair[0])
    return (RawPeer(owning: pair[1]), try XCTUnwrap(receiver.nextMessage().rights.first))
  }

  /// Its owner gets one end of a connection, with the number of the port, and the receiver of the right the other one.
  func test_RLK_WIRE_12_aRightThatIsPassedOn_leadsToItsPort() {
    onThread {
      let (owner, receiver) = (try RawReceiver(), try RawReceiver())
      owner.peer.send(frame(entries: [.right(9)]))
      let another = owner.nextMessage().rights[0]
      for (right, number) in [(owner.right, 5), (another, 9)] as [(Port.SendRight, UInt8)] {
        try receiver.right.send(Message(id: 3, [.right(right)]))
        let (ownersEnd, introduction) = owner.peer.receiveFile()
        XCTAssertEqual(introduction[5], UInt8(RLC_FRAME_INTRODUCE.rawValue))
        XCTAssertEqual(introduction[16], number)
        let (receiversEnd, message) = receiver.peer.receiveFile()
        XCTAssertEqual(message[8], 3)
        let ends = [ownersEnd, receiversEnd].map { RawPeer(owning: $0) }
        ends[1].send(frame(id: 8))
        XCTAssertEqual(ends[0].receive()?.bytes[8], 8)
      }
      for side in [owner, receiver] { side.end() }
    }
  }

  /// Else the port would stay one that somebody may send to.
  func test_RLK_WIRE_13_aRightThatHasComeSeveralTimes_goesBackAsOften() {
    onThread {
      let receiver = try RawReceiver()
      // Who has accepted the connection keeps the right for further messages, until the peer can send none.
      let peer = receiver.peer
      for _ in 0..<3 {
        peer.send(frame(entries: [.right(7)]))
        _ = receiver.nextMessage()
      }
      peer.send(frame(kind: RLC_FRAME_DROP, flags: Int(RLC_FRAME_IS_QUIET), entries: [.right(0, count: 1)]))
      self.expectBack(7, count: 3, peer)
      receiver.end()
    }
  }

  /// Who has opened the connection lets go at once.
  func test_RLK_WIRE_13_theSameToTheOneThatHasAccepted() {
    onThread {
      let receiver = try RawReceiver()
      let (owner, toOwner) = try self.introduce(to: receiver)
      try toOwner.send(Message([.right(receiver.port.sendRight)]))
      let number = self.entries(of: try XCTUnwrap(owner.receive()?.bytes))[0].value
      var messages: [Message] = []
      for _ in 0..<3 {
        owner.send(frame(to: number, entries: [.right(9)]))
        messages.append(receiver.nextMessage())
      }
      XCTAssertEqual(Set(messages.map { $0.rights[0] }).count, 1)
      owner.send(frame(to: 99))
      XCTAssertEqual(owner.receive()?.bytes[5], UInt8(RLC_FRAME_DEAD.rawValue))  // the last one's callout is over
      messages = []
      self.expectBack(9, count: 3, owner)
      receiver.end()
    }
  }

  /// The right has been given back, has gone with the connection, or was not sent.
  func test_RLK_WIRE_13_aPortLeavesAConnection_onWhichNobodyHasARightToIt() {
    onThread {
      for way in 0..<3 {
        let (receiver, own) = (try RawReceiver(), Port { _, _ in })
        let (right, peer, message) = (receiver.right, receiver.peer, Message([.right(own.sendRight)]))
        if way == 2 {
          XCTAssertGreaterThan(receiver.fill(), 0)
          XCTAssertEqual(thrown { try right.trySend(message) }, .portFull)
        } else {
          try right.send(message)
          XCTAssertEqual(own.peerTables.connections, 1)
          let number = self.entries(of: try XCTUnwrap(peer.receive()?.bytes))[0].value
          let drop = frame(kind: RLC_FRAME_DROP, entries: [.right(number, count: 1)])
          if way == 0 { peer.send(drop) } else { shutdown(peer.descriptor, Int32(SHUT_RDWR)) }
        }
        yieldUntil(own.peerTables.connections == 0)
        XCTAssertTrue(own.isValid)
        receiver.end()
      }
    }
  }

  /// In frames that take 1,024 each.
  func test_RLK_WIRE_13_thousandsOfRightsGoBackAtOnce() {
    onThread {
      let (receiver, numbers) = (try RawReceiver(), 1001...3048 as ClosedRange<UInt64>)
      let peer = receiver.peer
      var kept: [Message] = []
      for first in [1001, 2025] as [UInt64] {
        peer.send(frame(entries: (first..<first + 1024).map { .right($0) }))
        kept.append(receiver.nextMessage())
      }
      peer.send(frame(to: 99))
      XCTAssertEqual(peer.receive()?.bytes[5], UInt8(RLC_FRAME_DEAD.rawValue))
      withExtendedLifetime(kept) {}
      kept = []
      // Those that nobody has are given back when there are many.
      peer.send(frame(entries: (5001...5200).map { .right($0) }))
      kept.append(receiver.nextMessage())
      peer.send(frame(to: 98))
      var back: [UInt64] = []
      while let packet = peer.receive()?.bytes, packet[5] == UInt8(RLC_FRAME_DROP.rawValue) {
        back += self.entries(of: packet).map(\.value)
      }
      XCTAssertEqual(back.count, numbers.count)
      XCTAssertEqual(Set(back), Set(numbers))
      receiver.end()
    }
  }

  /// What there is no room for is sent when there is some.
  func test_RLK_WIRE_13_rightsThatAreDroppedWithoutRoom_goBackAll() {
    onThread {
      let receiver = try RawReceiver()
      var replies = try (6...9).map { try receiver.nextReply($0) }
      let count = receiver.fill()
      withExtendedLifetime(replies) {}  // an optimiser would drop them when they come
      replies = []
      receiver.takeMessages(count)
      var back: [UInt64] = []
      while back.count < 4, let packet = receiver.peer.receive()?.bytes {
        XCTAssertEqual(packet[5], UInt8(RLC_FRAME_DROP.rawValue))
        back += self.entries(of: packet).map(\.value)
      }
      XCTAssertEqual(back.sorted(), [6, 7, 8, 9])
      receiver.end()
    }
  }

  /// The news that nothing is left goes with the last right.
  func test_RLK_PEER_35_whoHasNoRightLeft_saysSoWhenThereIsRoom() {
    onThread {
      let receiver = try RawReceiver()
      let owner: RawPeer
      var rights: [Port.SendRight] = []
      do {
        let introduced = try self.introduce(to: receiver)
        owner = introduced.owner
        rights.append(introduced.right)
      }
      try rights[0].send(Message([.right(receiver.port.sendRight)]))  // the connection goes on without them
      let number = self.entries(of: try XCTUnwrap(owner.receive()?.bytes))[0].value
      owner.send(frame(to: number, entries: [.right(9)]))
      rights.append(receiver.nextMessage().rights[0])
      owner.send(frame(to: 99))
      XCTAssertEqual(owner.receive()?.bytes[5], UInt8(RLC_FRAME_DEAD.rawValue))  // that callout is over
      let count = rights[0].fill()
      while !rights.isEmpty { rights.removeLast() }
      owner.takeMessages(count)
      var (back, isQuiet): ([UInt64], Bool) = ([], false)
      while back.count < 2, let packet = owner.receive()?.bytes {
        XCTAssertEqual(packet[5], UInt8(RLC_FRAME_DROP.rawValue))
        XCTAssertFalse(isQuiet)
        back += self.entries(of: packet).map(\.value)
        isQuiet = packet[6] == UInt8(RLC_FRAME_IS_QUIET)
      }
      XCTAssertEqual(back, [9, 0])
      XCTAssertTrue(isQuiet)
      receiver.end()
    }
  }

  /// Of those that are held 64 are free, and of those that are gone none is charged.
  func test_RLK_PEER_22_whenRightsHaveGone_theyCountNoMore() {
    onThread {
      let receiver = try RawReceiver()
      let (port, peer) = (receiver.port, RawPeer(receiver.port.name!))
      /// Rights to answer, which are held when this returns.
      func message(_ numbers: Range<UInt64>) throws -> Message {
        peer.send(frame(entries: numbers.map { .right($0, flags: PeerRightTests.once) }))
        let message = receiver.nextMessage()
        peer.send(frame(to: 99))
        XCTAssertEqual(peer.receive()?.bytes[5], UInt8(RLC_FRAME_DEAD.rawValue))  // its callout is over
        return message
      }
      let cases: [(UInt64, UInt64, Int)] = [(0, 65, 64), (0, 130, 128), (64, 65, 128), (65, 65, 128)]
      for (round, (held, gone, charged)) in cases.enumerated() {
        let first = UInt64(round + 1) * 1000
        var messages = [try message(first..<first + held), try message(first + held..<first + held + gone)]
        XCTAssertEqual(port.peerStatistics.rights, charged)
        withExtendedLifetime(messages) {}
        messages.removeLast()
        XCTAssertEqual(port.peerStatistics.rights, held > 64 ? 64 : 0, "\(held) of \(held + gone) are held")
        withExtendedLifetime(messages) {}
        messages = []
        XCTAssertEqual(port.peerStatistics.rights, 0)
        var back = 0
        while back < held + gone, let packet = peer.receive()?.bytes { back += self.entries(of: packet).count }
      }
      receiver.end()
    }
  }

  /// Those to ports that their owner has ended, which the process holds still.
  func test_RLK_PEER_22_whenPortsHaveEnded_rightsToThemCountNoMore() {
    onThread {
      let receiver = try RawReceiver()
      let (peer, port) = (receiver.peer, receiver.port)
      peer.send(frame(entries: (100..<400).map { .right($0) }))
      let message = receiver.nextMessage()
      XCTAssertEqual(port.peerStatistics.rights, 256)
      for numbers in [100..<250, 250..<400] as [Range<UInt64>] {
        peer.send(frame(kind: RLC_FRAME_DEAD, entries: numbers.map { .right($0) }))
        peer.send(frame(to: 99))
        XCTAssertEqual(peer.receive()?.bytes[40], 99)  // the ends are known
        XCTAssertEqual(port.peerStatistics.rights, numbers.lowerBound == 100 ? 128 : 0)
      }
      XCTAssertTrue(message.rights.allSatisfy { !$0.isValid })
      receiver.end()
    }
  }

  /// Though they are held still.
  func test_RLK_PEER_22_rightsOfAPeerThatHasEndedCountNoMore() {
    onThread {
      let receiver = try RawReceiver()
      let (peer, port) = (receiver.peer, receiver.port)
      peer.send(frame(entries: (100..<400).map { .right($0) }))
      let message = receiver.nextMessage()
      XCTAssertEqual(port.peerStatistics.rights, 256)  // the first 64 are free, the others are charged 64 at a time
      shutdown(peer.descriptor, Int32(SHUT_RDWR))
      yieldUntil(port.peerStatistics.connections == 0)
      XCTAssertEqual(port.peerStatistics.rights, 0)
      XCTAssertTrue(message.rights.allSatisfy { !$0.isValid })
      receiver.end()
    }
  }

  /// As many as the limit allows, again and again.
  func test_RLK_PEER_22_rightsToAnswerCountNoMore_whenTheyHaveGone() {
    onThread {
      var policy = RunLoop.PeerPolicy.sameUser
      policy.perPeer.rights = 192
      let receiver = try RawReceiver(accepting: policy)
      let (peer, port) = (receiver.peer, receiver.port)
      for round in 1...3 as ClosedRange<UInt64> {
        peer.send(frame(entries: (0..<192).map { .right(round * 1000 + $0, flags: PeerRightTests.once) }))
        peer.send(frame(to: 99))
        // What is refused comes back ahead of this.
        guard let news = peer.receive()?.bytes, news[5] == UInt8(RLC_FRAME_DEAD.rawValue) else {
          return XCTFail("round \(round): something else has come back")
        }
        var rights = receiver.nextMessage().rights
        XCTAssertEqual(port.peerStatistics.rights, 192)
        for right in rights.prefix(96) {  // given
          try right.trySend(Message())
          XCTAssertEqual(peer.receive()?.bytes[5], UInt8(RLC_FRAME_MESSAGE.rawValue))
        }
        rights = []  // dropped
        for _ in 0..<96 { XCTAssertEqual(peer.receive()?.bytes[5], UInt8(RLC_FRAME_DROP.rawValue)) }
        XCTAssertEqual(port.peerStatistics.rights, 0)
      }
      XCTAssertEqual(port.peerStatistics.refusedMessages, 0)
      receiver.end()
    }
  }

  /// The file, and what stands behind it: in a message over the limit, and in one that ends its connection.
  func test_RLK_PEER_24_theDescriptorsOfAMessageThatIsNotTaken_areClosed() {
    onThread {
      for (most, seals) in [(0, 15), (1 << 20, 0)] as [(Int, Int32)] {
        var policy = RunLoop.PeerPolicy.sameUser
        policy.perPeer.mappedBytes = most
        let (receiver, pipe, before) = (try RawReceiver(accepting: policy), Pipe(), openFiles())
        let file = test_memory_file(100_000, seals)
        receiver.peer.send(
          frame(
            flags: Int(RLC_FRAME_IN_MEMORY_FILE), payload: 100_000, descriptors: 2,
            entries: [.bytes(100_000), .descriptor]), [file, pipe.writing])
        for descriptor in [file, pipe.writing] { close(descriptor) }
        let port = receiver.port
        yieldUntil(port.peerStatistics.refusedMessages + port.peerStatistics.refusedConnections == 1)
        XCTAssertEqual(port.peerStatistics.refusedMessages, most == 0 ? 1 : 0)
        XCTAssertFalse(pipe.hasWriter)
        XCTAssertEqual(openFiles().subtracting(before).filter { $0.contains("memfd") }, [])
        receiver.end()
        close(pipe.reading)
      }
    }
  }

  /// As a right among others, or as the one to answer to.
  func test_RLK_PEER_24_whoHasAskedIsTold_whenARefusedMessageHasTheRightToAnswer() {
    onThread {
      var policy = RunLoop.PeerPolicy.sameUser
      policy.perPeer.mappedBytes = 0
      let receiver = try RawReceiver(accepting: policy)
      for flags in [RLC_FRAME_YOURS | RLC_FRAME_ONCE, RLC_FRAME_YOURS | RLC_FRAME_ONCE | RLC_FRAME_REPLY] {
        let asker = TestThread {
          XCTAssertEqual(thrown { try receiver.right.request(Message(id: 3), timeout: .seconds(20)) }, .noReply)
        }
        let number = self.entries(of: try XCTUnwrap(receiver.peer.receive()?.bytes))[0].value
        let file = test_memory_file(100_000, 15)
        receiver.peer.send(
          frame(
            flags: Int(RLC_FRAME_IN_MEMORY_FILE), payload: 100_000, descriptors: 1,
            entries: [.bytes(100_000), .right(number, flags: UInt8(flags))]), [file])
        close(file)
        asker.join()
      }
      receiver.peer.send(frame(to: 99))
      XCTAssertEqual(receiver.peer.receive()?.bytes[40], 99)  // the connection goes on
      XCTAssertEqual(receiver.port.peerStatistics.refusedMessages, 2)
      receiver.end()
    }
  }
}
