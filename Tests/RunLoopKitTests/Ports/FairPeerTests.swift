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

  /// The message is refused, who has asked is told, and the connection goes on.
  func test_RLK_PEER_26_noDescriptorsAreLeft_forWhatComesWithAMessage() {
    let name = NameFolder.newName()
    onThread {
      let (reasons, seen, isTold) = (Box<[String]>([]), Box(0), Gate())
      let port = try Port(
        registeredAs: name,
        onRefusal: { refusal in
          reasons.update { $0.append(refusal.reason) }
          isTold.open()
        },
        replying: { _, message in
          seen.value += 1
          return Message(id: message.id, message.components)
        })
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      _ = try right.request(Message(id: 1))
      let before = filesBesideLoops()
      let peer = RawPeer(name)
      peer.send(frame(to: 99))
      XCTAssertNotNil(peer.receive())  // it has been taken
      var (limit, none) = (rlimit(), rlimit())
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      none = limit
      let next = dup(0)
      close(next)
      none.rlim_cur = rlim_t(next + 2)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
      let reply = Entry.right(5, flags: UInt8(RLC_FRAME_ONCE) | UInt8(RLC_FRAME_REPLY))
      peer.send(
        frame(id: 2, descriptors: 8, entries: [reply] + [Entry](repeating: .descriptor, count: 8)),
        [Int32](repeating: 0, count: 8))
      let answer = peer.receive()?.bytes
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      XCTAssertEqual(answer?[5], UInt8(RLC_FRAME_DROP.rawValue))  // of the right to answer: the asker knows
      XCTAssertEqual(answer?[40], 5)
      isTold.wait()  // the asker may know first
      XCTAssertEqual(seen.value, 1)
      XCTAssertEqual(reasons.value, ["no descriptors are left here for what came with a message"])
      XCTAssertEqual(port.peerStatistics.refusedMessages, 1)
      XCTAssertEqual(port.peerStatistics.refusedConnections, 0)
      peer.send(
        frame(id: 3, descriptors: 8, entries: [Entry](repeating: .descriptor, count: 8)),
        [Int32](repeating: 0, count: 8))
      XCTAssertEqual(try right.request(Message(id: 3, bytes: "well")).bytes, "well")
      while seen.value < 3 { _ = try right.request(Message(id: 3)) }
      // The connection's two ends. Those of earlier tests may have been closed meanwhile.
      let made = filesBesideLoops().subtracting(before)
      XCTAssertEqual(made.count, 2, "\(made)")
      serving.stop()
      port.invalidate()
    }
  }
}
