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

  /// Nothing else is sent on the connection.
  func test_RLK_WIRE_9_theEndOfAPort_isToldWhenThereIsRoom() {
    onThread {
      let (receiver, own) = (try RawReceiver(), Port { _, _ in })
      try receiver.right.send(Message([.right(own.sendRight)]))
      let number = try XCTUnwrap(receiver.peer.receive()?.bytes[40])
      let count = receiver.fill()
      own.invalidate()
      receiver.takeMessages(count)
      let news = receiver.peer.receive()?.bytes
      XCTAssertEqual(news?[5], UInt8(RLC_FRAME_DEAD.rawValue))
      XCTAssertEqual(news?[40], number)
      receiver.end()
    }
  }

  /// The connection has room then. A right to a third process's port in the message introduces nobody.
  func test_RLK_WIRE_9_aThreadThatWaitsForRoom_learnsOfTheEndOfThePort() {
    onThread {
      let third = try RawReceiver()
      for components in [[], [.right(third.right)]] as [[Message.Component]] {
        let (receiver, begun, thread, error) = (try RawReceiver(), Gate(), Box(""), Box<RunLoopError?>(nil))
        let (right, count) = (receiver.right, receiver.fill())
        let sender = TestThread {
          thread.value = ownThread()
          begun.open()
          error.value = thrown { try right.send(Message(components)) }
        }
        begun.wait()
        yieldUntil(isAsleep(thread.value))
        receiver.peer.send(frame(kind: RLC_FRAME_DEAD, entries: [.right(5)]))
        yieldUntil(!right.isValid)
        receiver.takeMessages(count)
        sender.join()
        XCTAssertEqual(error.value, .portInvalid)
        receiver.end()
      }
      XCTAssertFalse(isReadable(third.peer.descriptor))
      third.end()
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
        try peer.awaitNews(serving: loop)
        for id in 1...3 as ClosedRange<UInt32> { peer.send(frame(id: id)) }
      }
      try loop.serve { port.peerStatistics.connections == 0 }
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
      try peer.awaitNews(serving: loop)
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

  /// A message waits for room in it: the port's own, and what the peer has sent to another port.
  func test_RLK_WIRE_7_aFullPortThatEnds_doesNotHoldItsPeerUp() {
    let name = NameFolder.newName()
    onThread {
      let (loop, seen) = (RunLoop.current, Box<[UInt32]>([]))
      let second = Port { _, message in seen.update { $0.append(message.id) } }
      let port = try Port(
        registeredAs: name, queueLimit: 1, replying: { _, _ in Message([.right(second.sendRight)]) })
      try loop.add(port)
      try loop.add(second, to: "second")
      let peer = RawPeer(name)
      peer.send(frame(entries: [.right(5, flags: UInt8(RLC_FRAME_ONCE) | UInt8(RLC_FRAME_REPLY))]))
      try peer.awaitNews(serving: loop)
      let number = try XCTUnwrap(peer.receive()?.bytes[40])
      for id in 1...2 as ClosedRange<UInt32> { peer.send(frame(id: id)) }
      peer.send(frame(id: 7, to: UInt64(number)))
      for _ in 0..<4 { _ = try loop.run(in: "second", for: .zero) }
      XCTAssertEqual(port.pendingCount, 1)
      XCTAssertEqual(seen.value, [])
      port.invalidate()
      XCTAssertEqual(
        try loop.run(in: "second", for: .seconds(20), returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(seen.value, [7])
      second.invalidate()
    }
  }

  /// Each right is another kind of thing for the connection, and the descriptors are of four kinds.
  func test_RLK_WIRE_1_whatIsInAMessage_keepsItsPlace() {
    let names = (0..<3).map { _ in NameFolder.newName() }
    onThread {
      let (got, ids) = (Box<Message?>(nil), Box<[String: UInt32]>([:]))
      let ports = try names.map { name in
        try Port(registeredAs: name) { port, message in
          if message.id == 5 { got.value = message } else { ids.update { $0[port.name!] = message.id } }
        }
      }
      let own = Port { _, message in ids.update { $0["own"] = message.id } }
      for port in ports + [own] { try RunLoop.current.add(port) }
      let (rights, pipes) = (try names.map { try Port.connect(to: $0) }, [Pipe(), Pipe()])
      for large in [100_000, 20] {
        let ends = try pipes.map { Message.Component.descriptor(try .init(duplicating: $0.writing)) }
        let parts = [large, 30].map { Message.Bytes([UInt8](repeating: UInt8($0 & 0xff), count: $0)) }
        try rights[0].send(
          Message(
            id: 5,
            [
              ends[0], .right(rights[1]), .bytes(parts[0]), .right(own.sendRight), ends[1], .bytes(parts[1]),
              .right(rights[0]),
            ], reply: rights[2]))
        try RunLoop.current.serve { got.value != nil }
        let message = try XCTUnwrap(got.value)
        XCTAssertEqual(message.components.count, 7)
        for (index, pipe) in pipes.enumerated() {
          write(message.descriptors[index].fileDescriptor, "\(index)", 1)
          XCTAssertEqual(pipe.receive(), "\(index)")
        }
        XCTAssertEqual(message.components.compactMap { if case .bytes(let bytes) = $0 { bytes } else { nil } }, parts)
        for (index, right) in message.rights.enumerated() { try right.send(Message(id: UInt32(10 + index))) }
        try XCTUnwrap(message.reply).send(Message(id: 20))
        try RunLoop.current.serve { ids.value.count == 4 }
        XCTAssertEqual(ids.value, [names[1]: 10, "own": 11, names[0]: 12, names[2]: 20])
        (got.value, ids.value) = (nil, [:])
      }
      for pipe in pipes { pipe.closeBoth() }
      for port in ports + [own] { port.invalidate() }
    }
  }

  /// One byte each: more parts than a system call takes.
  func testAMessageOfTheMostComponents_arrivesWhole() {
    let name = NameFolder.newName()
    onThread {
      let port = try Port(registeredAs: name, replying: { _, message in Message(message.components) })
      let serving = ServingThread(port)
      let parts = (0..<1024).map { Message.Bytes([UInt8(truncatingIfNeeded: $0)]) }
      let answer = try Port.connect(to: name).request(Message(parts.map { .bytes($0) }))
      XCTAssertEqual(answer.components.map { if case .bytes(let bytes) = $0 { bytes } else { "" } }, parts)
      serving.stop()
      port.invalidate()
    }
  }

  /// The test makes the queue of connections short; usually thousands may wait.
  func testAnOwnerThatTakesNoConnections_isFull() {
    let name = NameFolder.newName()
    onThread {
      let (loop, before) = (RunLoop.current, openFiles())
      let port = try Port(registeredAs: name) { _, _ in }
      let socket = openFiles().subtracting(before).first { $0.contains("socket:") }
      let listener = try XCTUnwrap(socket?.split(separator: " ").first.flatMap { Int32($0) })
      XCTAssertEqual(listen(listener, 2), 0)
      var (rights, error) = ([Port.SendRight](), RunLoopError?.none)
      while error == nil, rights.count < 20 { error = thrown { rights.append(try Port.connect(to: name)) } }
      XCTAssertEqual(error, .portFull)
      XCTAssertEqual(
        error?.description,
        "the port \"\(name)\" is full: its owner has not taken the connections that wait; try again later")
      try loop.add(port)
      for _ in rights { _ = try loop.run(for: .zero) }
      XCTAssertEqual(port.peerStatistics.connections, rights.count)
      XCTAssertNil(thrown { try Port.connect(to: name) })
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
