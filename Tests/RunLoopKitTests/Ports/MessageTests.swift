import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What a message carries.
final class MessageTests: XCTestCase {
  typealias Bytes = Message.Bytes
  typealias Descriptor = Message.Descriptor

  /// Sends a message and serves it on the loop of this thread.
  private func pass(_ message: Message, to body: @escaping @Sendable (Message) -> Void) throws {
    let port = Port { port, message in
      body(message)
      port.invalidate()
    }
    try RunLoop.current.add(port)
    try port.sendRight.send(message)
    XCTAssertEqual(try RunLoop.current.run(), .finished)
  }

  func test_RLK_MSG_31_aDescriptorHasOneOwner() {
    onThread {
      let pipe = Pipe()
      let sent = try Descriptor(owning: pipe.writing)
      try self.pass(Message(id: 1, [.descriptor(sent)])) { message in
        let received = message.descriptors[0]
        XCTAssertEqual(received.fileDescriptor, pipe.writing)
        XCTAssertEqual(write(received.fileDescriptor, "x", 1), 1)
      }
      XCTAssertEqual(sent.fileDescriptor, -1)
      XCTAssertEqual(thrown { try sent.take() }, .system(EBADF))
      XCTAssertEqual(thrown { try sent.duplicate() }, .system(EBADF))
      // Nobody kept the message: the end of the pipe is closed.
      XCTAssertEqual(pipe.receive(), "x")
      XCTAssertEqual(pipe.receive(), "")
      close(pipe.reading)
    }
  }

  func test_RLK_MSG_32_whoTakesADescriptor_closesIt() throws {
    let pipe = Pipe()
    let second = try Descriptor(duplicating: pipe.writing)
    XCTAssertNotEqual(second.fileDescriptor, pipe.writing)
    XCTAssertEqual(fcntl(second.fileDescriptor, F_GETFD), FD_CLOEXEC)
    var owner: Descriptor? = try Descriptor(owning: pipe.writing)
    XCTAssertEqual(try owner!.take(), pipe.writing)
    owner = nil
    XCTAssertGreaterThanOrEqual(fcntl(pipe.writing, F_GETFD), 0)
    pipe.closeBoth()
    XCTAssertEqual(thrown { try Descriptor(owning: -1) }, .system(EBADF))
    XCTAssertEqual(thrown { try Descriptor(duplicating: 1_000_000) }, .system(EBADF))
  }

  /// It keeps all that it is made with, and finds each component by its kind, in their order.
  func testAMessageHasWhatItIsMadeOf() throws {
    let rights = (0..<2).map { _ in Port { _, _ in }.sendRight }
    let descriptors = try (0..<2).map { _ in try Descriptor(duplicating: STDERR_FILENO) }
    let short = Message(id: 3, bytes: "x", reply: rights[0])
    XCTAssertEqual([short.bytes], ["x"])
    XCTAssertEqual([short.reply], [rights[0]])
    XCTAssertEqual([short.id, UInt32(short.components.count)], [3, 1])
    let all: [Message.Component] = [
      .descriptor(descriptors[0]), .right(rights[0]), .bytes("1"), .right(rights[1]), .bytes("2"),
      .descriptor(descriptors[1]),
    ]
    let long = Message(id: 4, all, reply: rights[1])
    XCTAssertEqual(long.bytes, "1")
    XCTAssertEqual(long.rights, rights)
    XCTAssertEqual(long.descriptors.map(\.fileDescriptor), descriptors.map(\.fileDescriptor))
    XCTAssertEqual(long.reply, rights[1])
    XCTAssertEqual([long.id, UInt32(long.components.count)], [4, 6])
    XCTAssertNil(Message().bytes)
    XCTAssertNil(Message().reply)
  }

  /// All or nothing.
  func test_RLK_MSG_33_aSendThatThrows_leavesTheDescriptorsWithTheSender() throws {
    let counter = EventCounter()
    func descriptors(_ count: Int) throws -> [Message.Component] {
      try (0..<count).map { _ in .descriptor(try Descriptor(duplicating: counter.descriptor)) }
    }
    func isWhole(_ message: Message) -> Bool {
      message.descriptors.allSatisfy { fcntl($0.fileDescriptor, F_GETFD) >= 0 }
    }
    let before = openDescriptors()
    do {
      let port = Port(queueLimit: 1) { _, _ in }
      let most = Message(try descriptors(253))
      XCTAssertNoThrow(try port.sendRight.send(most))
      XCTAssertTrue(most.descriptors.allSatisfy { $0.fileDescriptor == -1 })

      let next = Message(try descriptors(2))
      XCTAssertEqual(thrown { try port.sendRight.trySend(next) }, .portFull)
      XCTAssertTrue(isWhole(next))
      XCTAssertEqual(thrown { try port.sendRight.send(next, timeout: .zero) }, .timedOut)
      XCTAssertTrue(isWhole(next))

      let many = Message(try descriptors(254))
      let roomy = Port { _, _ in }
      XCTAssertEqual(thrown { try roomy.sendRight.send(many) }, .tooManyDescriptors)
      XCTAssertTrue(isWhole(many))

      let pair = try descriptors(2)
      let twice = Message([pair[0], pair[1], pair[0]])
      XCTAssertEqual(thrown { try roomy.sendRight.send(twice) }, .system(EBADF))
      XCTAssertTrue(isWhole(twice))
      let empty = Message([pair[0], .descriptor(most.descriptors[0])])
      XCTAssertEqual(thrown { try roomy.sendRight.send(empty) }, .system(EBADF))
      XCTAssertTrue(isWhole(Message(pair)))
      XCTAssertEqual(roomy.pendingCount, 0)

      roomy.invalidate()
      XCTAssertEqual(thrown { try roomy.sendRight.send(next) }, .portInvalid)
      XCTAssertTrue(isWhole(next))
    }
    // The port is gone, and what waited in it with it.
    XCTAssertEqual(openDescriptors(), before)
  }

  func test_RLK_MSG_34_noDescriptorLeaks_overAHundredThousandMessages() {
    onThread {
      let (counter, count) = (EventCounter(), 100_000)
      let before = openDescriptors()
      let served = Box(0)
      let port = Port(queueLimit: 32) { port, message in
        served.value += 1
        if served.value % 3 == 0, let taken = try? message.descriptors[0].take() { close(taken) }
        if served.value == count { RunLoop.current.stop() }
      }
      try RunLoop.current.add(port)
      let right = port.sendRight
      let sender = TestThread {
        for _ in 0..<count {
          let descriptor = try! Descriptor(duplicating: counter.descriptor)
          try! right.send(Message([.descriptor(descriptor), .bytes("")]))
        }
      }
      XCTAssertEqual(try RunLoop.current.run(), .stopped)
      sender.join()
      XCTAssertEqual(openDescriptors(), before + 2)  // the loop's own: its wakeup port and its set
    }
  }

  /// None, empty, large; shared, not copied.
  func test_RLK_MSG_35_bytesAreShared() {
    onThread {
      for count in [0, 1, 65536, 16 << 20] {
        let bytes = Bytes(unsafeUninitializedCapacity: count) { memory in
          memset(memory.baseAddress!, 7, count)
          return count
        }
        let address = Box(bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) })
        try self.pass(Message(bytes: bytes)) { message in
          XCTAssertEqual(message.bytes, bytes)
          XCTAssertEqual(message.bytes!.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }, address.value)
        }
      }
      try self.pass(Message()) { message in
        XCTAssertNil(message.bytes)
        XCTAssertEqual(message.components.count, 0)
      }
    }
  }

  func test_RLK_MSG_36_bytesAreACollection() {
    let bytes: Bytes = [1, 2, 3, 4, 5, 6]
    XCTAssertEqual(bytes.count, 6)
    XCTAssertEqual(Array(bytes), [1, 2, 3, 4, 5, 6])
    let part = bytes[2..<5]
    XCTAssertEqual(part.startIndex, 2)
    XCTAssertEqual(part[2], 3)
    XCTAssertEqual(Array(part), [3, 4, 5])
    XCTAssertEqual(part, [3, 4, 5])
    XCTAssertEqual(Set<Bytes>([part, [3, 4, 5], [3, 4], bytes]).count, 3)
    XCTAssertEqual(part.dropFirst().last, 5)
    XCTAssertEqual(Bytes("grün"), Bytes([0x67, 0x72, 0xC3, 0xBC, 0x6E]))
    XCTAssertEqual(Bytes([]), "")
    XCTAssertEqual(Bytes((0..<3).lazy.map { UInt8($0) }), [0, 1, 2])
    XCTAssertTrue(bytes[3..<3].isEmpty)
    XCTAssertEqual(part.description, "3 bytes")
    XCTAssertEqual(part.withUnsafeBytes { Array($0) }, [3, 4, 5])
    XCTAssertEqual(part.withContiguousStorageIfAvailable { Array($0) }, [3, 4, 5])
    XCTAssertEqual(part.dropFirst().withContiguousStorageIfAvailable { Array($0) }, [4, 5])
    XCTAssertEqual(Array(Bytes(part)), [3, 4, 5])
    XCTAssertEqual(Bytes(part).startIndex, 0)
    XCTAssertNotEqual(bytes[0..<3], bytes[3..<6])
    XCTAssertEqual(Bytes().withUnsafeBytes { $0.count }, 0)
  }

  func test_RLK_MSG_37_rightsTravel() {
    onThread {
      let (loop, ids) = (RunLoop.current, Box<[UInt32]>([]))
      let port = Port { port, message in
        ids.update { $0.append(message.id) }
        if message.id == 2 { port.invalidate() }
      }
      try loop.add(port)
      try self.pass(Message([.right(port.sendRight), .bytes("x"), .right(port.sendRight)])) { message in
        XCTAssertEqual(message.rights, [port.sendRight, port.sendRight])
        try? message.rights[0].send(Message(id: 2))
      }
      XCTAssertEqual(ids.value, [2])
    }
  }
}
