import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Peers whose packets are dear, and a process that is short of descriptors: others are served, and nobody's connection ends.
final class FairPeerTests: XCTestCase {
  /// Both have sent all of it before the loop looks.
  func test_RLK_PEER_25_whoSendsDearPackets_letsOthersHaveTheirTurns() {
    onThread {
      let (name, order) = (NameFolder.newName(), Box<[UInt32]>([]))
      let port = try Port(registeredAs: name) { _, message in order.update { $0.append(message.id) } }
      try RunLoop.current.add(port)
      let (dear, cheap) = (RawPeer(name), RawPeer(name))
      for number in 0..<4 as Range<UInt64> {
        let entries = (0..<1024).map { Entry.right(number * 1024 + $0) }
        XCTAssertEqual(dear.send(frame(id: 1, entries: entries)), 0)
      }
      for _ in 0..<40 { XCTAssertEqual(cheap.send(frame(id: 2)), 0) }
      try RunLoop.current.serve { order.value.count == 44 }
      let firsts = order.value.indices.filter { order.value[$0] == 1 }
      XCTAssertEqual(firsts.count, 4)
      // 1024 entries are sixteen turns of 64.
      XCTAssertGreaterThanOrEqual(firsts[1] - firsts[0], 15, "\(order.value)")
      XCTAssertGreaterThanOrEqual(firsts[2] - firsts[1], 15, "\(order.value)")
      port.invalidate()
    }
  }

  /// Threads of the process send as fast as there is room for one message. The peer's connection, which is not read while its
  /// message waits for room, gets its turns all the same.
  func test_RLK_PEER_37_aPortThatLocalSendersKeepFull_takesWhatAPeerSends() {
    onThread {
      let (name, loop) = (NameFolder.newName(), RunLoop.current)
      let (own, others) = (Box(0), Box(0))
      let port = try Port(registeredAs: name, queueLimit: 1) { _, message in
        if message.sender == nil { own.value += 1 } else { others.value += 1 }
      }
      try loop.add(port)
      let right = port.sendRight
      let senders = (0..<3).map { _ in TestThread { while thrown({ try right.send(Message()) }) == nil {} } }
      // They have begun; the peer could be through before.
      while own.value == 0 { _ = try loop.run(in: .default, for: .seconds(60), returnAfterSourceHandled: true) }
      let peer = RawPeer(name)
      while others.value < 100, own.value < 100_000 {
        // What there is no room for in the socket yet.
        while others.value < 100, peer.send(frame(id: 1)) == 0 {}
        _ = try loop.run(in: .default, for: .zero)
      }
      XCTAssertGreaterThanOrEqual(others.value, 100, "beside \(own.value) of its own")
      port.invalidate()
      for sender in senders { sender.join() }
    }
  }

  /// In a process of its own: the limit of descriptors is its own, and no other thread closes one meanwhile.
  private final class Owner {
    let (loop, refusals, seen) = (RunLoop.current, Box<[RunLoop.Refusal]>([]), Box(0))
    let port: Port
    let peer: RawPeer
    private let files: Set<String>

    /// Echoes what the peer sends, whose connection has been taken.
    init(_ name: String) throws {
      let (refusals, seen) = (refusals, seen)
      port = try Port(
        registeredAs: name, onRefusal: { refusal in refusals.update { $0.append(refusal) } }
      ) { _, message in
        seen.value += 1
        try? message.reply?.send(Message(id: message.id, message.components))
      }
      try loop.add(port)
      peer = RawPeer(name)
      peer.send(frame(to: 99))
      try peer.awaitNews(serving: loop)
      _ = peer.receive()
      files = filesBesideLoops()
    }

    func answer(to packet: [UInt8], _ descriptors: [Int32] = []) throws -> [UInt8] {
      peer.send(packet, descriptors)
      try peer.awaitNews(serving: loop)
      return peer.receive()?.bytes ?? []
    }

    /// With eight descriptors.
    func ask() throws -> [UInt8] {
      let reply = Entry.right(5, flags: UInt8(RLC_FRAME_ONCE) | UInt8(RLC_FRAME_REPLY))
      let entries = [reply] + [Entry](repeating: .descriptor, count: 8)
      return try answer(to: frame(id: 2, descriptors: 8, entries: entries), [Int32](repeating: 0, count: 8))
    }

    /// The peer gets its answer when there are descriptors, and nothing has stayed open.
    func end(_ check: ChildChecks) throws {
      check.equal(try ask()[8], 2)
      check.equal(seen.value, 1)
      check.equal(filesBesideLoops().subtracting(files), [])
      port.invalidate()
    }
  }

  /// It is refused, who has asked is told, and the connection goes on.
  func test_RLK_PEER_26_noDescriptorsAreLeft_forWhatComesWithAMessage() {
    let name = NameFolder.newName()
    inChild { check in
      let owner = try Owner(name)
      try withDescriptors(2) {
        let news = try owner.ask()
        check.equal(news[5], UInt8(RLC_FRAME_DROP.rawValue))  // of the right to answer: the asker knows
        check.equal(news[40], 5)
      }
      check.equal(owner.refusals.value.map(\.reason), ["no descriptors are left here for what came with a message"])
      check.equal(owner.port.peerStatistics.refusedMessages, 1)
      check.equal(owner.port.peerStatistics.refusedConnections, 0)
      check.equal(owner.seen.value, 0)
      try owner.end(check)
    }
  }

  /// It is refused, and the connection goes on.
  func test_RLK_PEER_26_noDescriptorsAreLeft_forAnIntroduction() {
    let name = NameFolder.newName()
    inChild { check in
      let owner = try Owner(name)
      try withDescriptors(0) {
        owner.peer.send(frame(kind: RLC_FRAME_INTRODUCE, descriptors: 1), [owner.peer.descriptor])
        check.equal(try owner.answer(to: frame(to: 98))[40], 98)
      }
      check.equal(owner.refusals.value.map(\.reason), ["no descriptors are left here for an introduction"])
      check.equal(owner.port.peerStatistics.refusedIntroductions, 1)
      check.equal(owner.port.peerStatistics.refusedConnections, 0)
      try owner.end(check)
    }
  }

  /// Each is told so: there is a number for that.
  func test_RLK_PEER_26_noDescriptorsAreLeft_forWhoConnects() {
    let name = NameFolder.newName()
    inChild { check in
      let owner = try Owner(name)
      do {
        let callers = [Caller(name), Caller(name)]
        try withDescriptors(0) {
          for (index, caller) in callers.enumerated() {
            check.equal(caller.connect(), 0)
            try owner.loop.serve { owner.port.peerStatistics.refusedConnections > index }
          }
        }
        let words = "no descriptors are left here"
        for caller in callers { check.equal(RawPeer(owning: dup(caller.descriptor)).farewell(), words) }
        let refusal = "unknown process: \(words)"
        check.equal(owner.refusals.value.map(\.description), [refusal, refusal])
        check.equal(owner.port.peerStatistics.connections, 1)
      }
      try owner.end(check)
    }
  }
}
