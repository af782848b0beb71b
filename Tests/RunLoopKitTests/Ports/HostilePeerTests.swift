import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Peers that keep no rules: each is told why, nobody else notices, nothing stays open.
final class HostilePeerTests: XCTestCase {
  /// A port that answers, and a friend who must be served whatever happens.
  fileprivate final class Victim {
    let name = NameFolder.newName()
    let port: Port
    let refusals = Box<[RunLoop.Refusal]>([])
    let serving: ServingThread
    let friend: Port.SendRight
    /// An earlier test's may be among them, about to be closed.
    fileprivate let files: Set<String>

    init(maximumPayload: Int = 1 << 20, accepting policy: RunLoop.PeerPolicy = .sameUser) throws {
      let refusals = refusals
      port = try Port(
        registeredAs: name, accepting: policy, maximumPayload: maximumPayload,
        onRefusal: { refusal in refusals.update { $0.append(refusal) } },
        replying: { _, message in Message(id: message.id, message.components) })
      serving = ServingThread(port)
      friend = try Port.connect(to: name)
      _ = try friend.request(Message(id: 1))
      files = filesBesideLoops()
    }

    /// The packet ends its connection with these words.
    func refuses(
      _ packet: [UInt8], with descriptors: [Int32] = [], _ words: String, file: StaticString = #filePath,
      line: UInt = #line
    ) throws {
      let before = port.peerStatistics.refusedConnections
      do {
        let peer = RawPeer(name)
        XCTAssertEqual(peer.send(packet, descriptors), 0, file: file, line: line)
        XCTAssertEqual(peer.farewell(), words, file: file, line: line)
      }
      XCTAssertEqual(refusals.value.last?.reason, words, file: file, line: line)
      XCTAssertEqual(port.peerStatistics.refusedConnections, before + 1, file: file, line: line)
      try checkOthersAreServed(file: file, line: line)
    }

    func checkOthersAreServed(file: StaticString = #filePath, line: UInt = #line) throws {
      XCTAssertEqual(try friend.request(Message(id: 7, bytes: "well")).bytes, "well", file: file, line: line)
      try settle(among: files, file: file, line: line) { _ = try friend.request(Message()) }
    }
  }

  func test_RLK_PEER_1_headersThatLie() {
    onThread {
      let victim = try Victim()
      try victim.refuses(frame(magic: 0x4b4c_5250), "not a frame")
      try victim.refuses(frame(version: 2), "another version of the protocol")
      try victim.refuses(frame(kind: rlc_frame_kind(99)), "an unknown kind of frame")
      try victim.refuses(frame(flags: 64), "unknown flags")
      try victim.refuses(Array(frame().dropLast()), "the size of the packet is not what its header says")
      try victim.refuses([1], "the size of the packet is not what its header says")
      try victim.refuses(frame() + [0], "the size of the packet is not what its header says")
      try victim.refuses(frame(payload: 65, bytes: [1]), "the size of the packet is not what its header says")
      try victim.refuses(frame(entries: [.bytes(2)], bytes: [1]), "lengths that do not add up")
      try victim.refuses(frame(entries: [.bytes(UInt64.max), .bytes(2)], bytes: [1]), "lengths that do not add up")
      try victim.refuses(frame(payload: 1 << 21), "a payload larger than the receiver accepts")
      try victim.refuses(frame(entries: [Entry(kind: rlc_frame_entry_kind(77))]), "an entry that does not belong there")
      try victim.refuses(frame(entries: [.right(0, flags: 0xff)]), "an entry that does not belong there")
      try victim.refuses(frame(kind: RLC_FRAME_DEAD), "a wrong number of entries")
      try victim.refuses(
        [UInt8](repeating: 0, count: Int(RLC_FRAME_LARGEST) + 1), "the size of the packet is not what its header says")
      try victim.refuses(
        frame(kind: RLC_FRAME_MESSAGE, payload: 3, entries: [.bytes(3)]),
        "the size of the packet is not what its header says")
    }
  }

  func test_RLK_PEER_2_descriptorsThatDoNotBelongThere() {
    onThread {
      let victim = try Victim()
      let wrong = "a wrong number of descriptors"
      try victim.refuses(frame(), with: [0, 0, 0], wrong)
      try victim.refuses(frame(descriptors: 2, entries: [.descriptor]), with: [0, 0], wrong)
      try victim.refuses(frame(descriptors: 2, entries: [.descriptor, .descriptor]), with: [0], wrong)
      try victim.refuses(frame(descriptors: 1, entries: [.descriptor]), with: [Int32](repeating: 0, count: 253), wrong)
      try victim.refuses(
        [UInt8](repeating: 0, count: 100_000), with: [0, 0], "the size of the packet is not what its header says")
      try victim.refuses(frame(descriptors: 1, entries: [.right(0, flags: 4)]), with: [0], "a right that is no socket")
      try victim.refuses(
        frame(kind: RLC_FRAME_INTRODUCE, descriptors: 1), with: [0], "an introduction without a socket")
    }
  }

  func test_RLK_PEER_3_memoryFilesThatCanChange() {
    onThread {
      let victim = try Victim()
      func packet(_ size: UInt64) -> [UInt8] {
        frame(flags: 1, payload: size, descriptors: 1, entries: [.bytes(size)])
      }
      func file(_ seals: Int32, _ size: Int) -> Int32 {
        test_memory_file(size, seals)
      }
      for seals: Int32 in [0, 1, 2, 4, 8, 14, 13, 11, 7] {
        let unsafe = file(seals, 4096)
        try victim.refusesAndCloses(packet(4096), unsafe, "a memory file that can still change")
      }
      for (size, told) in [(4096, 4097), (4096, 4095), (0, 1), (4096, 1 << 20)] as [(Int, UInt64)] {
        try victim.refusesAndCloses(packet(told), file(15, size), "a memory file of another size")
      }
      try victim.refusesAndCloses(packet(5), open("/dev/null", O_RDWR), "a payload that is in no memory file")
      let good = file(15, 4096)
      let peer = RawPeer(victim.name)
      XCTAssertEqual(peer.send(packet(4096), [good]), 0)
      close(good)
      try victim.checkIsServed()
    }
  }

  func test_RLK_PEER_4_rightsThatItNeverHad_areNoHarm() {
    onThread {
      let victim = try Victim()
      let peer = RawPeer(victim.name)
      // To a number that nobody has: it is told so, and nothing ends.
      peer.send(frame(to: 99))
      let answer = peer.receive()
      XCTAssertEqual(answer?.bytes[5], UInt8(RLC_FRAME_DEAD.rawValue))
      XCTAssertEqual(answer?.bytes[40], 99)
      peer.send(frame(kind: RLC_FRAME_DROP, entries: [.right(1, count: 5), .right(99, count: .max)]))
      peer.send(frame(kind: RLC_FRAME_DEAD, entries: [.right(5)]))
      peer.send(frame(id: 8, entries: [.right(1234, flags: 8 | 2)]))  // to answer "its own" port, which it never had
      peer.send(frame(id: 9, entries: [.right(3, flags: 8)]))
      let last = peer.receive()
      XCTAssertEqual(last?.bytes[8], 9)
      XCTAssertEqual(last?.bytes[16], 3)
      // It drops its right to the port, a second time somebody else's, and has none left.
      peer.send(
        frame(
          kind: RLC_FRAME_DROP, flags: Int(RLC_FRAME_IS_QUIET), entries: [.right(0, count: 1), .right(0, count: 1)]))
      XCTAssertEqual(peer.receive()?.bytes[5], UInt8(RLC_FRAME_DROP.rawValue))  // the right that it gave away above
      XCTAssertNil(peer.receive())
      try victim.checkIsServed()
    }
  }

  func test_RLK_PEER_5_aFloodOfMessagesToNobody_fromOneWhoDoesNotRead() {
    onThread {
      let victim = try Victim()
      do {
        let peer = RawPeer(victim.name)
        var status: Int32 = 0
        while status == 0 || status == -EAGAIN {
          status = peer.send(frame(to: 99))
          if status == -EAGAIN { _ = try victim.friend.request(Message()) }
        }
        XCTAssertTrue(status == -EPIPE || status == -ECONNRESET)
      }
      XCTAssertEqual(victim.refusals.value.last?.reason, "a flood of messages to ports that do not exist")
      try victim.checkOthersAreServed()
    }
  }

  func test_RLK_PEER_6_emptyPacketsAndSilence() {
    onThread {
      let victim = try Victim()
      do {
        let peer = RawPeer(victim.name)
        XCTAssertEqual(peer.send([]), 0)
        XCTAssertNil(peer.receive())
        let peers = (0..<50).map { _ in RawPeer(victim.name) }
        for peer in peers { peer.send(frame(id: 1)) }
        try victim.checkIsServed()
      }
      try victim.checkOthersAreServed()
    }
  }

  func test_RLK_PEER_7_aPolicyRefuses_beforeAnythingIsRead() {
    onThread {
      let name = NameFolder.newName()
      let (asked, called) = (Box<[Message.Sender]>([]), Box(0))
      let policy = RunLoop.PeerPolicy { peer in
        asked.update { $0.append(peer) }
        return false
      }
      let port = try Port(registeredAs: name, accepting: policy) { _, _ in called.value += 1 }
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      let told = Gate()
      right.onInvalidation { told.open() }
      _ = thrown { try right.send(Message(bytes: "unread")) }
      told.wait()
      let reason = "not allowed for user \(geteuid())"
      let refusal = thrown { try right.send(Message()) }
      XCTAssertEqual(refusal, .refused)
      XCTAssertEqual(refusal?.description, "refused: \(reason)")
      XCTAssertEqual(asked.value.map(\.processID), [getpid()])
      XCTAssertEqual(called.value, 0)
      XCTAssertEqual(port.peerStatistics.refusedConnections, 1)
      let ownRefusal = thrown { try Port.connect(to: name, accepting: RunLoop.PeerPolicy { _ in false }) }
      XCTAssertEqual(ownRefusal, .refused)
      XCTAssertEqual(ownRefusal?.description, "refused: the port belongs to user \(geteuid())")
      serving.stop()
      port.invalidate()
    }
  }

  /// Nobody has read on the connection before.
  func test_RLK_PEER_7_theFirstSendTellsTheReason() {
    let (name, third) = (NameFolder.newName(), NameFolder.newName())
    let large = Message.Bytes([UInt8](repeating: 1, count: 100_000))
    let ways: [@Sendable (Port.SendRight) throws -> Void] = [
      { try $0.send(Message()) }, { try $0.trySend(Message()) }, { try $0.send(Message(bytes: large)) },
      { _ = try $0.request(Message(), timeout: .seconds(20)) },
      { try $0.send(Message([.right(try Port.connect(to: third))])) },
      { right in
        let (outcome, isOver) = (Box<Result<Void, any Error>>(.success(())), Gate())
        Task {
          do { try await right.send(Message()) } catch { outcome.value = .failure(error) }
          isOver.open()
        }
        isOver.wait()
        try outcome.value.get()
      },
    ]
    onThread {
      let loop = RunLoop.current
      let port = try Port(registeredAs: name, accepting: RunLoop.PeerPolicy { _ in false }) { _, _ in }
      let another = try Port(registeredAs: third) { _, _ in }
      try loop.add(port)
      for (index, send) in ways.enumerated() {
        let right = try Port.connect(to: name)
        try loop.serve { port.peerStatistics.refusedConnections > index }
        let refusal = thrown { try send(right) }
        XCTAssertEqual(refusal, .refused, "\(index)")
        XCTAssertEqual(refusal?.description, "refused: not allowed for user \(geteuid())", "\(index)")
        XCTAssertFalse(right.isValid)
      }
      for port in [port, another] { port.invalidate() }
    }
  }

  private func callAsAnother(_ victim: Victim) {
    let caller = Caller(victim.name)
    let child = caller.connect(as: 65534)
    XCTAssertGreaterThan(child, 0)
    XCTAssertEqual(RawPeer(owning: dup(caller.descriptor)).farewell(), "not allowed for user 65534")
    if child > 0 { endChild(child) }
  }

  /// Needs root, which can become somebody else.
  func test_RLK_PEER_8_anotherUserIsRefused() throws {
    guard geteuid() == 0 else { try skipCase("another user needs root") }
    onThread {
      let victim = try Victim()
      chmod(NameFolder.base, 0o711)
      chmod(NameFolder.path, 0o711)
      chmod("\(NameFolder.path)/\(victim.name)", 0o666)
      self.callAsAnother(victim)
      chmod(NameFolder.path, 0o700)
      chmod(NameFolder.base, 0o700)
      XCTAssertEqual(victim.refusals.value.last?.peer?.userID, 65534)
      try victim.checkOthersAreServed()
    }
  }

  /// Each holds both of its ends here, and nobody else could ever see its end: it is found out, and takes no slot from others.
  func test_RLK_PEER_10_introductionsToItself() {
    onThread {
      let victim = try Victim()
      do {
        let peer = RawPeer(victim.name)
        for _ in 0..<300 {
          var pair: [Int32] = [-1, -1]
          rlc_message_socket_pair(&pair)
          for end in pair {
            peer.send(frame(kind: RLC_FRAME_INTRODUCE, descriptors: 1), [end])
            close(end)
          }
          _ = try victim.friend.request(Message())
        }
        // Its own end of its own connection, too.
        peer.send(frame(kind: RLC_FRAME_INTRODUCE, descriptors: 1), [peer.descriptor])
      }
      try victim.checkOthersAreServed()
      XCTAssertEqual(victim.port.peerStatistics.introductions, 0)
      XCTAssertEqual(victim.port.peerStatistics.connections, 1)
      XCTAssertEqual(victim.port.peerStatistics.refusedIntroductions, 0)
      XCTAssertEqual(victim.refusals.value.count, 0)
      victim.port.invalidate()
    }
  }

  /// Any bytes at all, from a fixed seed: whatever is sent, the port goes on.
  func test_RLK_PEER_9_anyBytes() {
    onThread {
      let victim = try Victim()
      var seed: UInt64 = 88_172_645_463_325_252
      func random(_ bound: Int) -> Int {
        seed ^= seed << 13
        seed ^= seed >> 7
        seed ^= seed << 17
        return Int(seed % UInt64(bound))
      }
      let seeds = [
        frame(id: 3, entries: [.bytes(5)], bytes: [1, 2, 3, 4, 5]),
        frame(id: 4, entries: [.right(7, flags: 9), .bytes(1)], bytes: [9]),
        frame(descriptors: 1, entries: [.descriptor]), frame(kind: RLC_FRAME_DROP, entries: [.right(3, count: 1)]),
        frame(kind: RLC_FRAME_DEAD, entries: [.right(3)]), frame(descriptors: 1, entries: [.right(0, flags: 4)]),
        frame(kind: RLC_FRAME_INTRODUCE, descriptors: 1), frame(id: 5, entries: [.right(0, flags: 2)]),
      ]
      for _ in 0..<(isSlow ? 300 : 3000) {
        let peer = RawPeer(victim.name)
        var pair: [Int32] = [-1, -1]
        rlc_message_socket_pair(&pair)
        for _ in 0..<(1 + random(4)) {
          var packet = seeds[random(seeds.count)]
          for _ in 0..<random(4) { packet[random(packet.count)] = UInt8(random(256)) }
          if random(8) == 0 { packet.removeLast(random(packet.count)) }
          let count = packet.count > 14 ? Int(packet[14]) & 7 : 0
          if peer.send(packet, [Int32](repeating: random(2) == 0 ? 0 : pair[0], count: count)) != 0 { break }
        }
        for end in pair { close(end) }
      }
      try victim.checkOthersAreServed()
    }
  }
}

extension HostilePeerTests.Victim {
  fileprivate func refusesAndCloses(
    _ packet: [UInt8], _ descriptor: Int32, _ words: String, file: StaticString = #filePath, line: UInt = #line
  ) throws {
    do {
      let peer = RawPeer(name)
      XCTAssertEqual(peer.send(packet, [descriptor]), 0, file: file, line: line)
      close(descriptor)
      XCTAssertEqual(peer.farewell(), words, file: file, line: line)
    }
    try checkOthersAreServed(file: file, line: line)
  }

  fileprivate func checkIsServed() throws { XCTAssertEqual(try friend.request(Message(bytes: "well")).bytes, "well") }
}
