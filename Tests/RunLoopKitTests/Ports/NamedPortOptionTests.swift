import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Whichever initialiser or method makes a named port, it has all that it was asked for with.
final class NamedPortOptionTests: XCTestCase {
  /// Three messages wait, a payload has a hundred bytes; who is asked about, what is refused, and what comes is noted.
  private final class Wish: RunLoop.PortDelegate, @unchecked Sendable {
    let name = NameFolder.newName()
    let (asked, reasons, ids) = (Box<[Int32]>([]), Box<[String]>([]), Box<[UInt32]>([]))

    var policy: RunLoop.PeerPolicy {
      RunLoop.PeerPolicy { [asked] sender in
        asked.update { $0.append(sender.processID) }
        return true
      }
    }

    var refused: @Sendable (RunLoop.Refusal) -> Void {
      { [reasons] refusal in reasons.update { $0.append(refusal.reason) } }
    }

    func port(_ port: Port, didReceive message: Message) { ids.update { $0.append(message.id) } }
  }

  private func check(_ what: String, isAdded: Bool = true, _ make: @escaping (RunLoop, Wish) throws -> Port) {
    onThread {
      let (loop, wish) = (RunLoop.current, Wish())
      let port = try make(loop, wish)
      XCTAssertEqual(loop.items(in: "named").contains { $0 === port }, isAdded, what)
      if !isAdded { try loop.add(port, to: "named") }
      let peer = RawPeer(wish.name)
      let bytes = [UInt8](repeating: 1, count: 100)
      peer.send(frame(id: 7, entries: [.bytes(100)], bytes: bytes))
      try loop.serve(in: "named") { !wish.ids.value.isEmpty }
      XCTAssertEqual(wish.ids.value, [7], what)
      XCTAssertEqual(wish.asked.value, [getpid()], what)
      XCTAssertEqual(port.description, "<port \(wish.name), 0 of 3 messages, 1 connections, valid>", what)
      var room = 0
      while thrown({ try port.sendRight.trySend(Message()) }) == nil { room += 1 }
      XCTAssertEqual(room, 3, what)
      peer.send(frame(id: 8, entries: [.bytes(101)], bytes: bytes + [1]))
      try loop.serve(in: "named") { !wish.reasons.value.isEmpty }
      XCTAssertEqual(wish.reasons.value, ["a payload larger than the receiver accepts"], what)
      port.invalidate()
    }
  }

  /// The limit of who connects is for what comes back.
  func testTheMostThatMayComeBack() {
    let name = NameFolder.newName()
    onThread {
      let port = try Port(
        registeredAs: name,
        replying: { _, message in Message(bytes: Message.Bytes([UInt8](repeating: 1, count: Int(message.id)))) })
      let serving = ServingThread(port)
      for most in [100, 0, -1] {
        let (right, size) = (try Port.connect(to: name, maximumPayload: most), UInt32(max(most, 0)))
        XCTAssertEqual(try right.request(Message(id: size)).bytes?.count ?? 0, Int(size))
        let refusal = thrown { try right.request(Message(id: size + 1)) }
        XCTAssertEqual(refusal, .refused)
        XCTAssertEqual(refusal?.description, "refused: a payload larger than the receiver accepts")
      }
      serving.stop()
      port.invalidate()
    }
  }

  func testAPortWithoutAName_hasNoneAndNoPeers() {
    let port = Port { _, _ in }
    XCTAssertNil(port.name)
    XCTAssertFalse(port.ownsName)
    XCTAssertEqual(port.peerStatistics.connections, 0)
    XCTAssertEqual(port.peerStatistics.refusedConnections, 0)
  }

  func testPortsOfInitialisers() {
    check("a body", isAdded: false) { _, wish in
      try Port(
        registeredAs: wish.name, queueLimit: 3, accepting: wish.policy, maximumPayload: 100, onRefusal: wish.refused
      ) { wish.port($0, didReceive: $1) }
    }
    check("a body that answers", isAdded: false) { _, wish in
      try Port(
        registeredAs: wish.name, queueLimit: 3, accepting: wish.policy, maximumPayload: 100, onRefusal: wish.refused,
        replying: {
          wish.port($0, didReceive: $1)
          return nil
        })
    }
    check("a delegate", isAdded: false) { _, wish in
      try Port(
        registeredAs: wish.name, queueLimit: 3, accepting: wish.policy, maximumPayload: 100, onRefusal: wish.refused,
        delegate: wish)
    }
  }

  func test_RLK_LOCAL_1_portsOfALoop() {
    check("a body") { loop, wish in
      try loop.assumeOnLoop { local in
        try local.port(
          registeredAs: wish.name, queueLimit: 3, accepting: wish.policy, maximumPayload: 100, onRefusal: wish.refused,
          in: "named"
        ) { wish.port($0, didReceive: $1) }
      }
    }
    check("a body that answers") { loop, wish in
      try loop.assumeOnLoop { local in
        try local.port(
          registeredAs: wish.name, queueLimit: 3, accepting: wish.policy, maximumPayload: 100, onRefusal: wish.refused,
          in: "named",
          replying: {
            wish.port($0, didReceive: $1)
            return nil
          })
      }
    }
    check("a delegate") { loop, wish in
      try loop.assumeOnLoop { local in
        try local.port(
          registeredAs: wish.name, queueLimit: 3, accepting: wish.policy, maximumPayload: 100, onRefusal: wish.refused,
          in: "named", delegate: wish)
      }
    }
  }
}
