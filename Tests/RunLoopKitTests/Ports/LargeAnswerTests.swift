import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Small requests that could make a server hold much: what comes in a file goes back in it, and what is made has a limit.
final class LargeAnswerTests: XCTestCase {
  private static func identity(_ file: Int32) -> UInt64 {
    var status = stat()
    fstat(file, &status)
    return UInt64(status.st_ino)
  }

  private static let reply = Entry.right(5, flags: UInt8(RLC_FRAME_ONCE) | UInt8(RLC_FRAME_REPLY))

  /// With holes: a copy would be so much memory, and the request is eighty bytes.
  func test_RLK_PEER_30_whatIsEchoed_goesBackInTheSameFile() {
    onThread {
      let name = NameFolder.newName()
      let port = try Port(registeredAs: name, replying: { _, message in Message(id: message.id, message.components) })
      let serving = ServingThread(port)
      let friend = try Port.connect(to: name)
      _ = try friend.request(Message())
      let before = filesBesideLoops()
      let size = 32 << 20
      let file = test_memory_file(size, 15)
      do {
        let peer = RawPeer(name)
        for first in [size, 0, 1, 20 << 20] {
          let entries = [LargeAnswerTests.reply, .bytes(UInt64(first)), .bytes(UInt64(size - first))]
          peer.send(frame(id: 9, flags: 1, payload: UInt64(size), descriptors: 1, entries: entries), [file])
          let (echoed, packet) = peer.receiveFile()
          XCTAssertEqual(packet[8], 9)
          XCTAssertEqual(LargeAnswerTests.identity(echoed), LargeAnswerTests.identity(file), "\(first)")
          close(echoed)
        }
        var status = stat()
        fstat(file, &status)
        XCTAssertEqual(status.st_blocks, 0)  // nobody has made any of it
      }
      close(file)
      try settle(among: before) { _ = try friend.request(Message()) }
      serving.stop()
      port.invalidate()
    }
  }

  /// Whatever is made of the parts of a message that came in a file: what arrives is what was sent.
  func test_RLK_PEER_30_partsAndOtherOrders_areNotTheFile() {
    onThread {
      let name = NameFolder.newName()
      let orders = [[0, 1], [1, 0], [1], [0], [1, 1], [0, 0], [0, 1, 0], [2, 1, 2, 0], [2, 0, 2, 1, 2]]
      let port = try Port(
        registeredAs: name,
        replying: { _, message in Message(orders[Int(message.id)].map { message.components[$0] }) })
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      let parts = [1, 2].map { Message.Bytes([UInt8](repeating: $0, count: 60_000)) } + [Message.Bytes()]
      for (id, order) in orders.enumerated() {
        let answer = try right.request(Message(id: UInt32(id), parts.map { .bytes($0) }))
        let bytes = answer.components.map { if case .bytes(let bytes) = $0 { bytes } else { Message.Bytes() } }
        XCTAssertEqual(bytes, order.map { parts[$0] }, "\(order)")
      }
      serving.stop()
      port.invalidate()
    }
  }

  /// They are as long as one file is, and each begins where it did in its own.
  func test_RLK_PEER_30_aHalfOfOneFileAndOneOfAnother_areNeither() {
    onThread {
      let (name, came) = (NameFolder.newName(), Box<[Message]>([]))
      let port = try Port(
        registeredAs: name,
        replying: { _, message in
          came.update { $0.append(message) }
          return came.value.count < 3 ? Message() : Message([came.value[0].components[0], came.value[1].components[1]])
        })
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      let halves = (1...4).map { Message.Bytes([UInt8](repeating: $0, count: 60_000)) }
      for pair in [halves[..<2], halves[2...]] { _ = try right.request(Message(pair.map { .bytes($0) })) }
      let answer = try right.request(Message())
      let bytes = answer.components.map { if case .bytes(let bytes) = $0 { bytes } else { Message.Bytes() } }
      XCTAssertEqual(bytes, [halves[0], halves[3]])
      serving.stop()
      port.invalidate()
    }
  }

  /// A part, or another order, is a copy: of these so much may be on its way as the policy says.
  func test_RLK_PEER_31_answersThatNobodyTakes_areBoundedInBytes() {
    onThread {
      let name = NameFolder.newName()
      var policy = RunLoop.PeerPolicy.sameUser
      policy.unreadBytes = 1_000_000
      let large = Message.Bytes([UInt8](repeating: 1, count: 400_000))
      let port = try Port(
        registeredAs: name, accepting: policy,
        replying: { _, message in message.id == 1 ? Message(bytes: large) : Message() })
      let serving = ServingThread(port)
      let friend = try Port.connect(to: name)
      let peer = RawPeer(name)
      for _ in 0..<5 { peer.send(frame(id: 1, entries: [LargeAnswerTests.reply])) }
      peer.send(frame(id: 2, entries: [.right(6, flags: UInt8(RLC_FRAME_ONCE) | UInt8(RLC_FRAME_REPLY))]))
      while port.undeliveredReplies < 3 { _ = try friend.request(Message()) }
      _ = try friend.request(Message())
      XCTAssertEqual(port.undeliveredReplies, 3)  // 400,000 and 800,000 are not too many
      for _ in 0..<2 { close(peer.receiveFile().file) }
      // Told of three answers that do not come, and the small one.
      while let packet = peer.receive()?.bytes, packet[16] != 6 {}
      peer.send(frame(id: 1, entries: [LargeAnswerTests.reply]))
      close(peer.receiveFile().file)
      XCTAssertEqual(port.undeliveredReplies, 3)
      serving.stop()
      port.invalidate()
    }
  }

  /// Who waits goes on when the peer takes something, though there was room in the socket all the time.
  func test_RLK_WIRE_25_whoSendsMuch_waitsForTheReader() {
    onThread {
      let receiver = try RawReceiver(accepting: LargeAnswerTests.policy(unread: 100_000))
      let (right, peer) = (receiver.right, receiver.peer)
      let large = Message.Bytes([UInt8](repeating: 1, count: 150_000))
      try right.trySend(Message(bytes: large))  // alone it may be of any size
      XCTAssertEqual(thrown { try right.trySend(Message(bytes: large)) }, .portFull)
      XCTAssertEqual(thrown { try right.send(Message(bytes: large), timeout: .zero) }, .timedOut)
      let (thread, begun, sent) = (Box(""), Gate(), Gate())
      let sender = TestThread {
        thread.value = ownThread()
        begun.open()
        try! right.send(Message(id: 7, bytes: large))
        sent.open()
      }
      begun.wait()
      yieldUntil(isAsleep(thread.value))
      close(peer.receiveFile().file)
      sent.wait()
      sender.join()
      let (file, packet) = peer.receiveFile()
      close(file)
      XCTAssertEqual(packet[8], 7)
      receiver.end()
    }
  }

  /// The next one may be of any size too, when the peer has taken the one before it.
  func test_RLK_WIRE_25_where0BytesMayBeUnread_oneMessageIsOnItsWay() {
    onThread {
      for unread in [0, -5] {
        let receiver = try RawReceiver(accepting: LargeAnswerTests.policy(unread: unread))
        let (right, peer) = (receiver.right, receiver.peer)
        for _ in 0..<3 {
          XCTAssertNil(thrown { try right.trySend(Message(bytes: LargeAnswerTests.ones(150_000))) })
          XCTAssertEqual(thrown { try right.trySend(Message(bytes: LargeAnswerTests.ones(70_000))) }, .portFull)
          XCTAssertNil(thrown { try right.trySend(Message(bytes: LargeAnswerTests.ones(60_000))) })  // in no file
          close(peer.receiveFile().file)
          peer.takeMessages(1)
        }
        receiver.end()
      }
    }
  }

  func test_RLK_WIRE_25_whatCouldNotBeSent_isNothingThatIsUnread() {
    onThread {
      let receiver = try RawReceiver(accepting: LargeAnswerTests.policy(unread: 1_000_000))
      let (huge, large) = (LargeAnswerTests.ones(900_000), LargeAnswerTests.ones(100_000))
      let count = receiver.fill()
      for _ in 0..<3 {
        XCTAssertEqual(thrown { try receiver.right.trySend(Message(bytes: huge)) }, .portFull)
        XCTAssertEqual(thrown { try receiver.right.send(Message(bytes: huge), timeout: .zero) }, .timedOut)
      }
      receiver.takeMessages(count)
      for _ in 0..<10 { XCTAssertNil(thrown { try receiver.right.trySend(Message(bytes: large)) }) }
      XCTAssertEqual(thrown { try receiver.right.trySend(Message(bytes: large)) }, .portFull)
      receiver.end()
    }
  }

  /// The same for tasks; and no memory file stays open.
  func test_RLK_ASYNC_21_whatATaskHasSentOrNot_leavesNothing() async throws {
    let receiver = try RawReceiver(accepting: LargeAnswerTests.policy(unread: 1_000_000))
    let (huge, large, right) = (LargeAnswerTests.ones(900_000), LargeAnswerTests.ones(100_000), receiver.right)
    let before = openFiles()
    let count = receiver.fill()
    let task = Task.immediate { try await right.send(Message(bytes: huge)) }
    task.cancel()
    let end = await task.result
    XCTAssertThrowsError(try end.get()) { XCTAssertTrue($0 is CancellationError) }
    receiver.takeMessages(count)
    for _ in 0..<20 {
      try await right.send(Message(bytes: large))
      close(receiver.peer.receiveFile().file)
    }
    XCTAssertEqual(openFiles().subtracting(before).filter { $0.contains("memfd") }, [])
    for _ in 0..<10 { XCTAssertNil(thrown { try right.trySend(Message(bytes: large)) }) }
    XCTAssertEqual(thrown { try right.trySend(Message(bytes: large)) }, .portFull)
    receiver.end()
  }

  private static func policy(unread: Int) -> RunLoop.PeerPolicy {
    var policy = RunLoop.PeerPolicy.sameUser
    policy.unreadBytes = unread
    return policy
  }

  private static func ones(_ count: Int) -> Message.Bytes { Message.Bytes([UInt8](repeating: 1, count: count)) }

  /// The same for a task, which has no thread to wait with.
  func test_RLK_ASYNC_21_aTaskThatSendsMuch_waitsForTheReader() async throws {
    let receiver = try RawReceiver(accepting: LargeAnswerTests.policy(unread: 100_000))
    let (right, peer) = (receiver.right, receiver.peer)
    let large = Message.Bytes([UInt8](repeating: 1, count: 150_000))
    try await right.send(Message(bytes: large))  // counts as unread, as a thread's message does
    XCTAssertEqual(thrown { try right.trySend(Message(bytes: large)) }, .portFull)
    let task = Task.immediate { try await right.send(Message(id: 7, bytes: large)) }
    let behind = Task.immediate { try await right.send(Message(id: 8)) }
    close(peer.receiveFile().file)
    try await task.value
    let (file, packet) = peer.receiveFile()
    close(file)
    XCTAssertEqual(packet[8], 7)
    try await behind.value
    XCTAssertEqual(peer.receive()?.bytes[8], 8)
    receiver.end()
  }
}
