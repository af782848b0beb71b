import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Sends that fail, or take long.
final class ConnectionTests: XCTestCase {
  func test_RLK_WIRE_20_aSendThatThrows_leavesTheRightToAnswer() {
    let name = NameFolder.newName()
    onThread {
      let port = try Port(registeredAs: name) { _, message in
        let descriptor = try! Message.Descriptor(duplicating: 0)
        let twice = Message([.descriptor(descriptor), .descriptor(descriptor), .right(message.reply!)])
        XCTAssertEqual(
          thrown { try message.rights[0].send(twice) }, .system(EBADF))
        XCTAssertGreaterThanOrEqual(descriptor.fileDescriptor, 0)
        XCTAssertTrue(message.reply!.isValid)
        XCTAssertNil(thrown { try message.reply!.send(Message(id: 4)) })
      }
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      let own = Port { _, _ in }
      XCTAssertEqual(try right.request(Message([.right(own.sendRight)])).id, 4)
      serving.stop()
      port.invalidate()
    }
  }

  /// A right that could not be sent keeps nothing of the connection.
  func test_RLK_WIRE_21_connectionsThatFailedToSendARight_areGone() {
    let name = NameFolder.newName()
    onThread {
      let port = try Port(registeredAs: name) { _, _ in }  // no loop serves it: the kernel keeps what is sent
      let own = Port { _, _ in }
      func failToSend() throws {
        let right = try Port.connect(to: name)
        while thrown({ try right.trySend(Message()) }) == nil {}
        XCTAssertEqual(thrown { try right.trySend(Message(reply: own.sendRight)) }, .portFull)
      }
      for _ in 0..<4 { try failToSend() }
      let before = test_memory_in_use()
      for _ in 0..<50 { try failToSend() }
      XCTAssertLessThan(test_memory_in_use() - before, 1 << 20)  // each has some 80 KiB
      port.invalidate()
    }
  }

  /// The peer knows nothing of the port when it ends; then comes the right to it, and then the news.
  func test_RLK_WIRE_22_aPortThatEnds_whileARightToItWaitsForRoom() {
    onThread {
      let (receiver, isFull, thread) = (try RawReceiver(), Gate(), Box(""))
      let (right, peer, own) = (receiver.right, receiver.peer, Port { _, _ in })
      let left = receiver.fill()
      let sender = TestThread {
        thread.value = ownThread()
        isFull.open()
        try! right.send(Message(id: 9, [.right(own.sendRight)]))
      }
      isFull.wait()
      yieldUntil(isAsleep(thread.value))
      own.invalidate()
      receiver.takeMessages(left)
      var kinds: [UInt8] = []
      while kinds.last != UInt8(RLC_FRAME_DEAD.rawValue) || !kinds.contains(UInt8(RLC_FRAME_MESSAGE.rawValue)) {
        kinds.append(peer.receive()!.bytes[5])
      }
      sender.join()
      receiver.end()
    }
  }

  /// The peer has it once, whatever was tried since; and twice when it was sent twice.
  func test_RLK_WIRE_20_aRightThatThePeerHas_staysWhenItCannotBeSentAgain() {
    onThread {
      let (receiver, loop, seen) = (try RawReceiver(), RunLoop.current, Box<[UInt32]>([]))
      let own = Port { _, message in seen.update { $0.append(message.id) } }
      try loop.add(own)
      let (peer, message) = (receiver.peer, Message([.right(own.sendRight)]))
      func use(_ number: UInt8, _ id: UInt32) throws {
        peer.send(frame(id: id, to: UInt64(number)))
        XCTAssertEqual(try loop.run(for: .seconds(20), returnAfterSourceHandled: true), .handledSource)
      }
      try receiver.right.send(message)
      let number = try XCTUnwrap(peer.receive()?.bytes[40])
      let count = receiver.fill()
      XCTAssertEqual(thrown { try receiver.right.trySend(message) }, .portFull)
      XCTAssertEqual(thrown { try receiver.right.send(message, timeout: .zero) }, .timedOut)
      receiver.takeMessages(count)
      try use(number, 1)
      try receiver.right.send(message)
      XCTAssertEqual(peer.receive()?.bytes[40], number)
      let drop = frame(kind: RLC_FRAME_DROP, entries: [.right(UInt64(number), count: 1)])
      peer.send(drop)
      try use(number, 2)
      peer.send(drop)
      peer.send(frame(id: 3, to: UInt64(number)))
      let news = peer.receive()?.bytes
      XCTAssertEqual(news?[5], UInt8(RLC_FRAME_DEAD.rawValue))
      XCTAssertEqual(news?[40], number)
      XCTAssertEqual(seen.value, [1, 2])
      receiver.end()
    }
  }

  func test_RLK_WIRE_11_theRightToANamedPort_isOneRight_amongMany() {
    let name = NameFolder.newName()
    onThread {
      let others = (0..<9).map { _ in Port { _, _ in } }
      let port = try Port(
        registeredAs: name,
        replying: { port, _ in Message((others + [port]).map { .right($0.sendRight) }) })
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      let rights = try right.request(Message()).rights
      XCTAssertEqual(rights.count, 10)
      XCTAssertEqual(rights.last, right)
      XCTAssertEqual(try right.request(Message()).rights, rights)
      serving.stop()
      port.invalidate()
    }
  }

  /// The kernel reports the loss of what it has not read before what it has sent.
  func test_RLK_WIRE_6_whatWasSentComes_alsoFromWhoHasNotReadAll() {
    let name = NameFolder.newName()
    onThread {
      let (loop, seen) = (RunLoop.current, Box<[UInt32]>([]))
      let port = try Port(registeredAs: name) { _, message in seen.update { $0.append(message.id) } }
      try loop.add(port)
      do {
        let peer = RawPeer(name)
        peer.send(frame(to: 99))
        while !isReadable(peer.descriptor) { _ = try loop.run(for: .milliseconds(20)) }
        for id in 1...3 as ClosedRange<UInt32> { peer.send(frame(id: id)) }
      }
      let end = RunLoop.Instant.now.advanced(by: .seconds(30))
      while port.peerStatistics.connections > 0, RunLoop.Instant.now < end { _ = try loop.run(for: .milliseconds(5)) }
      XCTAssertEqual(seen.value, [1, 2, 3])
      port.invalidate()
    }
  }

  /// It waits in the kernel, until a mode that has the port runs.
  func test_RLK_WIRE_7_whatAPeerSends_isNotReadInAModeThatThePortHasLeft() {
    let name = NameFolder.newName()
    onThread {
      let (loop, seen) = (RunLoop.current, Box<[UInt32]>([]))
      let port = try Port(registeredAs: name) { _, message in seen.update { $0.append(message.id) } }
      try loop.add(port)
      try loop.add(RunLoop.Timer.never())
      let peer = RawPeer(name)
      peer.send(frame(to: 99))
      while !isReadable(peer.descriptor) { _ = try loop.run(for: .milliseconds(20)) }
      loop.remove(port)
      peer.send(frame(id: 7))
      for _ in 0..<3 { _ = try loop.run(for: .zero) }
      XCTAssertEqual(port.pendingCount, 0)
      XCTAssertEqual(seen.value, [])
      try loop.add(port, to: "other")
      XCTAssertEqual(
        try loop.run(in: "other", for: .seconds(20), returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(seen.value, [7])
      port.invalidate()
    }
  }

  func testAConnectThatFails_leavesNothingOpen() {
    let (name, own) = (NameFolder.newName(), NameFolder.newName())
    onThread {
      let port = try Port(registeredAs: own) { _, _ in }
      let (nobody, before) = (RunLoop.PeerPolicy { _ in false }, filesBesideLoops())
      for _ in 0..<3 {
        XCTAssertEqual(thrown { try Port.connect(to: name) }, .noSuchPort)
        XCTAssertEqual(thrown { try Port.connect(to: "/") }, .badName)
        XCTAssertEqual(thrown { try Port.connect(to: own, accepting: nobody) }, .refused)
        XCTAssertEqual(thrown { try Port(registeredAs: own) { _, _ in } }, .nameTaken)
      }
      XCTAssertEqual(filesBesideLoops().subtracting(before), [])
      XCTAssertNotEqual(thrown { try Port.connect(to: name) }, .refused)  // other errors are other cases
      port.invalidate()
    }
  }
}
