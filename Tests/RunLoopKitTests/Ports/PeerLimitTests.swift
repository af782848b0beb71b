import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// What one peer, and all peers of a port, may make a process hold: what is over is refused alone, told and counted.
final class PeerLimitTests: XCTestCase {
  private final class Limited {
    let name = NameFolder.newName()
    let port: Port
    let reasons = Box<[String]>([])
    let kept = Box<[Message]>([])
    let serving: ServingThread
    let friend: Port.SendRight

    /// Keeps messages with the id 6, throws them away at 7, and answers all others with the message that came.
    init(_ change: (inout RunLoop.PeerPolicy) -> Void) throws {
      var policy = RunLoop.PeerPolicy.sameUser
      change(&policy)
      let (reasons, kept) = (reasons, kept)
      port = try Port(
        registeredAs: name, accepting: policy, onRefusal: { refusal in reasons.update { $0.append(refusal.reason) } }
      ) { _, message in
        if message.id == 6 { return kept.update { $0.append(message) } }
        if message.id == 7 { kept.value = [] }
        try? message.reply?.send(message)
      }
      serving = ServingThread(port)
      friend = try Port.connect(to: name)
      _ = try friend.request(Message(id: 1))
    }

    func end() {
      checkWords()
      serving.stop()
      port.invalidate()
    }

    /// The description of the statistics has all of them.
    func checkWords(file: StaticString = #filePath, line: UInt = #line) {
      let now = port.peerStatistics
      XCTAssertEqual(
        "\(now)",
        "connections \(now.connections), introductions \(now.introductions), rights \(now.rights), undelivered "
          + "descriptors \(now.undeliveredDescriptors), mapped bytes \(now.mappedBytes); refused: connections "
          + "\(now.refusedConnections), messages \(now.refusedMessages), introductions \(now.refusedIntroductions)",
        file: file, line: line)
    }

    /// All that was sent before has been looked at.
    func settle(_ isDone: () -> Bool) throws {
      var tries = 0
      while !isDone(), tries < 10_000 {
        _ = try friend.request(Message(id: 1))
        tries += 1
      }
    }
  }

  func test_RLK_PEER_20_connectionsOfOnePeer_andOfAll() {
    onThread {
      for isOfPeer in [true, false] {
        let limited = try Limited { policy in
          if isOfPeer { policy.perPeer.connections = 3 } else { policy.perPort.connections = 3 }
        }
        let reason = "too many connections: \(isOfPeer ? "a peer" : "all peers") may have 3"
        var peers = [RawPeer(limited.name), RawPeer(limited.name)]
        XCTAssertEqual(RawPeer(limited.name).farewell(), reason)
        XCTAssertEqual(limited.reasons.value, [reason])
        XCTAssertEqual(limited.port.peerStatistics.connections, 3)
        XCTAssertEqual(limited.port.peerStatistics.refusedConnections, 1)
        peers.removeLast()
        try limited.settle { limited.port.peerStatistics.connections == 2 }
        let next = RawPeer(limited.name)
        next.send(frame(to: 99))
        XCTAssertEqual(next.receive()?.bytes[5], UInt8(RLC_FRAME_DEAD.rawValue))
        withExtendedLifetime(peers) {}
        limited.end()
      }
    }
  }

  /// Each process of this user has limits of its own.
  func test_RLK_PEER_20_aPeerIsAProcess() { connect(as: [nil, nil], refused: 1) }

  /// Each other user has the limits for all its processes.
  func test_RLK_PEER_20_aPeerIsAnotherUser() throws {
    guard geteuid() == 0 else { try skipCase("another user needs root") }
    connect(as: [nil, 65534, 65534, 65533], refused: 2)
  }

  /// With limits of one connection, after one more of this process has been refused.
  private func connect(as users: [UInt32?], refused: Int) {
    onThread {
      let name = NameFolder.newName()
      var policy = RunLoop.PeerPolicy.anyUser
      policy.perPeer.connections = 1
      let port = try Port(registeredAs: name, accepting: policy) { _, _ in }
      let serving = ServingThread(port)
      let own = RawPeer(name)
      XCTAssertEqual(RawPeer(name).farewell(), "too many connections: a peer may have 1")
      for folder in [NameFolder.base, NameFolder.path] { chmod(folder, 0o711) }
      chmod("\(NameFolder.path)/\(name)", 0o666)
      let children = users.map { Caller(name).connect(as: $0) }
      XCTAssertFalse(children.contains(-1))
      for folder in [NameFolder.base, NameFolder.path] { chmod(folder, 0o700) }
      yieldUntil(port.peerStatistics.connections + port.peerStatistics.refusedConnections == 2 + users.count)
      XCTAssertEqual(port.peerStatistics.refusedConnections, refused)
      for child in children where child > 0 {
        kill(child, SIGKILL)
        waitpid(child, nil, 0)
      }
      yieldUntil(port.peerStatistics.connections == 1)
      withExtendedLifetime(own) {}
      serving.stop()
      port.invalidate()
    }
  }

  func test_RLK_PEER_20_numbersBelow0AllowNone() {
    let limits = RunLoop.PeerLimits(
      connections: -1, introductions: -2, rights: -3, undeliveredDescriptors: -4, mappedBytes: -5)
    onThread {
      let name = NameFolder.newName()
      var policy = RunLoop.PeerPolicy.sameUser
      policy.perPort = limits
      let port = try Port(registeredAs: name, accepting: policy) { _, _ in }
      let serving = ServingThread(port)
      XCTAssertEqual(RawPeer(name).farewell(), "too many connections: all peers may have 0")
      serving.stop()
      port.invalidate()
      let limited = try Limited { policy in
        policy.perPeer = limits
        policy.perPeer.connections = 2
      }
      let (peer, bytes) = (RawPeer(limited.name), Message.Bytes([UInt8](repeating: 3, count: 100_000)))
      XCTAssertEqual(thrown { try limited.friend.request(Message(id: 1, bytes: bytes)) }, .noReply)
      peer.send(frame(kind: RLC_FRAME_INTRODUCE, descriptors: 1), [peer.descriptor])
      try limited.settle { limited.reasons.value.count == 2 }
      XCTAssertEqual(
        limited.reasons.value,
        ["too many bytes in mapped files: a peer may have 0", "too many introductions: a peer may have 0"])
      limited.end()
    }
  }

  func testTheUsualLimits() {
    let usual = RunLoop.PeerLimits(
      connections: 256, introductions: 128, rights: 16_384, undeliveredDescriptors: 1024, mappedBytes: 4 << 30)
    XCTAssertEqual(RunLoop.PeerLimits(), usual)
    XCTAssertEqual(RunLoop.PeerLimits.defaultPerPeer, usual)
    XCTAssertEqual(RunLoop.PeerPolicy.sameUser.perPeer, usual)
    let ofAll = RunLoop.PeerLimits(
      connections: 1024, introductions: 512, rights: 65_536, undeliveredDescriptors: 4096, mappedBytes: 16 << 30)
    XCTAssertEqual(RunLoop.PeerLimits.defaultPerPort, ofAll)
    XCTAssertEqual(RunLoop.PeerPolicy.anyUser.perPort, ofAll)
    XCTAssertEqual(RunLoop.PeerPolicy.anyUser.unreadBytes, 256 << 20)
    XCTAssertEqual(Port.defaultMaximumPayload, 1 << 30)
  }

  /// A right that came on it is held still, also one to a third process's port.
  func test_RLK_PEER_20_whatHasEndedCountsNoMore() {
    onThread {
      let limited = try Limited { policy in (policy.perPeer.connections, policy.perPeer.introductions) = (2, 1) }
      for round in 1...3 {
        do {
          let peer = RawPeer(limited.name)
          var pair: [Int32] = [-1, -1]
          rlc_message_socket_pair(&pair)
          let entries: [Entry] = [.right(7), .right(0, flags: UInt8(RLC_FRAME_AS_SOCKET))]
          peer.send(frame(id: 6, descriptors: 1, entries: entries), [pair[0]])
          try limited.settle { limited.kept.value.count == round }
          XCTAssertEqual(limited.port.peerStatistics.connections, 2)
          XCTAssertEqual(limited.port.peerStatistics.introductions, 1)
          for end in pair { close(end) }
        }
        try limited.settle {
          limited.port.peerStatistics.connections == 1 && limited.port.peerStatistics.introductions == 0
        }
        XCTAssertEqual(limited.port.peerStatistics.connections, 1)
        XCTAssertEqual(limited.port.peerStatistics.introductions, 0)
        XCTAssertTrue(limited.kept.value.allSatisfy { $0.rights.allSatisfy { !$0.isValid } })
      }
      XCTAssertEqual(limited.kept.value.count, 3)
      XCTAssertEqual(limited.reasons.value, [])
      limited.end()
    }
  }

  /// The one that is over is invalid for who got it; its introducer and the port go on. Slots are free when the peer is gone.
  func test_RLK_PEER_21_introductions() {
    onThread {
      let limited = try Limited { $0.perPeer.introductions = 2 }
      let reason = "too many introductions: a peer may have 2"
      let before = filesBesideLoops()
      do {
        let peer = RawPeer(limited.name)
        var strangers: [RawPeer] = []
        for _ in 0..<3 {
          var pair: [Int32] = [-1, -1]
          rlc_message_socket_pair(&pair)
          peer.send(frame(kind: RLC_FRAME_INTRODUCE, descriptors: 1), [pair[0]])
          close(pair[0])
          strangers.append(RawPeer(owning: pair[1]))
        }
        XCTAssertEqual(strangers[2].farewell(), reason)
        // As a right in a message: dead when it comes, and the message is there.
        var pair: [Int32] = [-1, -1]
        rlc_message_socket_pair(&pair)
        peer.send(frame(id: 6, descriptors: 1, entries: [.right(0, flags: UInt8(RLC_FRAME_AS_SOCKET))]), [pair[0]])
        close(pair[0])
        XCTAssertEqual(RawPeer(owning: pair[1]).farewell(), reason)
        try limited.settle { !limited.kept.value.isEmpty }
        XCTAssertFalse(limited.kept.value[0].rights[0].isValid)
        XCTAssertEqual(limited.port.peerStatistics.refusedIntroductions, 2)
        XCTAssertEqual(limited.port.peerStatistics.refusedConnections, 0)
        // Who sends is a peer of his own: the introducer has room again.
        strangers[0].send(frame(to: 98))
        while let packet = strangers[0].receive(), packet.bytes[5] != UInt8(RLC_FRAME_DEAD.rawValue) {}
        XCTAssertEqual(limited.port.peerStatistics.introductions, 1)
        limited.checkWords()
        peer.send(frame(to: 97))
        XCTAssertEqual(peer.receive()?.bytes[40], 97)  // it goes on
      }
      try settle(among: before) { _ = try limited.friend.request(Message(id: 1)) }
      XCTAssertEqual(limited.port.peerStatistics.introductions, 0)
      XCTAssertEqual(limited.port.peerStatistics.connections, 1)
      limited.end()
    }
  }

  func test_RLK_PEER_22_rights_areGivenBack_andTheMessageIsRefusedAlone() {
    onThread {
      let limited = try Limited { $0.perPeer.rights = 128 }
      let peer = RawPeer(limited.name)
      let many = (1...192).map { Entry.right($0) }
      peer.send(frame(id: 6, entries: many))
      let reply = Entry.right(1000, flags: UInt8(RLC_FRAME_ONCE) | UInt8(RLC_FRAME_REPLY))
      peer.send(frame(id: 1, entries: [reply] + (193...220).map { Entry.right($0) }))
      // All rights of the message that is refused come back, its right to be answered too.
      var dropped: Set<UInt64> = []
      while dropped.count < 29, let packet = peer.receive()?.bytes {
        XCTAssertEqual(packet[5], UInt8(RLC_FRAME_DROP.rawValue))
        for entry in stride(from: 32, to: packet.count, by: 16) {
          dropped.insert(packet[(entry + 8)..<(entry + 16)].reversed().reduce(0) { $0 << 8 | UInt64($1) })
        }
      }
      XCTAssertEqual(dropped, Set((193...220).map { UInt64($0) } + [1000]))
      XCTAssertEqual(limited.reasons.value, ["too many rights: a peer may have 128"])
      XCTAssertEqual(limited.port.peerStatistics.refusedMessages, 1)
      XCTAssertEqual(limited.port.peerStatistics.rights, 128)
      XCTAssertEqual(limited.kept.value.count, 1)
      _ = try limited.friend.request(Message(id: 7))
      peer.send(frame(id: 6, entries: (300...363).map { Entry.right($0) }))  // a sweep lets the others go
      try limited.settle { limited.kept.value.count == 1 }
      XCTAssertEqual(limited.kept.value.count, 1)
      limited.end()
    }
  }

  /// The mode that runs is another port's of the same connection, so that messages wait.
  func test_RLK_PEER_23_descriptorsThatWait() {
    onThread {
      let (name, reasons, seen) = (NameFolder.newName(), Box<[String]>([]), Box<[Int]>([]))
      var policy = RunLoop.PeerPolicy.sameUser
      policy.perPeer.undeliveredDescriptors = 10
      let (loop, second) = (RunLoop.current, Port { _, _ in })
      let port = try Port(
        registeredAs: name, accepting: policy, onRefusal: { refusal in reasons.update { $0.append(refusal.reason) } }
      ) { _, message in
        seen.update { $0.append(message.descriptors.count) }
        try? message.reply?.send(Message([.right(second.sendRight)]))
      }
      try loop.add(port, to: "first")
      try loop.add(second, to: "second")
      let peer = RawPeer(name)
      peer.send(frame(entries: [.right(5, flags: UInt8(RLC_FRAME_ONCE) | UInt8(RLC_FRAME_REPLY))]))
      try loop.serve(in: "first") { !seen.value.isEmpty }
      func send(_ count: Int) {
        let entries = (0..<count).map { _ in Entry.descriptor }
        peer.send(frame(descriptors: count, entries: entries), [Int32](repeating: 0, count: count))
      }
      let before = filesBesideLoops()
      for _ in 0..<3 { send(4) }
      for _ in 0..<9 { _ = try loop.run(in: "second", for: .zero) }
      XCTAssertEqual(port.pendingCount, 2)
      XCTAssertEqual(port.peerStatistics.undeliveredDescriptors, 8)
      XCTAssertEqual(filesBesideLoops().subtracting(before).count, 8)
      XCTAssertEqual(reasons.value, ["too many descriptors in messages that wait: a peer may have 10"])
      XCTAssertEqual(port.peerStatistics.refusedMessages, 1)
      for _ in 0..<9 { _ = try loop.run(in: "first", for: .zero) }
      XCTAssertEqual(seen.value, [0, 4, 4])
      XCTAssertEqual(port.peerStatistics.undeliveredDescriptors, 0)
      send(12)  // told at once, it does not wait
      for _ in 0..<9 { _ = try loop.run(in: "first", for: .zero) }
      XCTAssertEqual(seen.value, [0, 4, 4, 12])
      send(4)
      for _ in 0..<9 { _ = try loop.run(in: "second", for: .zero) }
      XCTAssertEqual(port.peerStatistics.undeliveredDescriptors, 4)
      port.invalidate()  // what waits is thrown away
      XCTAssertEqual(port.peerStatistics.undeliveredDescriptors, 0)
      second.invalidate()
    }
  }

  func test_RLK_PEER_24_mappedBytes() {
    onThread {
      let limited = try Limited { $0.perPeer.mappedBytes = 300_000 }
      let bytes = Message.Bytes([UInt8](repeating: 3, count: 100_000))
      for _ in 0..<3 { try limited.friend.send(Message(id: 6, bytes: bytes)) }
      XCTAssertEqual(thrown { try limited.friend.request(Message(id: 1, bytes: bytes)) }, .noReply)
      // The server's thread reports the refusal behind the answer that it brings about.
      yieldUntil(!limited.reasons.value.isEmpty && limited.port.peerStatistics.refusedMessages > 0)
      XCTAssertEqual(limited.port.peerStatistics.mappedBytes, 300_000)
      XCTAssertEqual(limited.reasons.value, ["too many bytes in mapped files: a peer may have 300000"])
      XCTAssertEqual(limited.port.peerStatistics.refusedMessages, 1)
      limited.checkWords()
      _ = try limited.friend.request(Message(id: 7))
      XCTAssertEqual(limited.port.peerStatistics.mappedBytes, 0)
      XCTAssertEqual(try limited.friend.request(Message(id: 1, bytes: bytes)).bytes, bytes)
      limited.end()
    }
  }

  /// What all peers together may not have does not count as what the one peer has.
  func test_RLK_PEER_38_whatIsRefusedCountsAgainstNoLimit() {
    onThread {
      let limited = try Limited { policy in
        policy.perPeer.mappedBytes = 350_000
        policy.perPort.mappedBytes = 200_000
      }
      let bytes = Message.Bytes([UInt8](repeating: 3, count: 100_000))
      for _ in 0..<2 { try limited.friend.send(Message(id: 6, bytes: bytes)) }
      for _ in 0..<3 {
        XCTAssertEqual(thrown { try limited.friend.request(Message(id: 1, bytes: bytes)) }, .noReply)
      }
      yieldUntil(limited.reasons.value.count == 3)
      XCTAssertEqual(Set(limited.reasons.value), ["too many bytes in mapped files: all peers may have 200000"])
      _ = try limited.friend.request(Message(id: 7))
      for _ in 0..<2 { try limited.friend.send(Message(id: 6, bytes: bytes)) }
      _ = try limited.friend.request(Message(id: 1))
      XCTAssertEqual(limited.port.peerStatistics.mappedBytes, 200_000)
      XCTAssertEqual(limited.reasons.value.count, 3)
      limited.end()
    }
  }
}
