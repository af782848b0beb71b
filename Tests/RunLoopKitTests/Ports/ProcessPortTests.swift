import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Ports between processes: the other one is a `port-peer`.
final class ProcessPortTests: XCTestCase {
  func test_RLK_WIRE_1_messagesGoToAnotherProcess_andAnswersComeBack() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let right = try Port.connect(to: name)
      let answer = try right.request(Message(id: 1, [.bytes("one"), .bytes(""), .bytes([1, 2, 3])]))
      XCTAssertEqual(answer.id, 1)
      XCTAssertEqual(answer.components.count, 3)
      XCTAssertEqual(answer.bytes, "one")
      XCTAssertEqual(answer.sender?.processID, peer.processID)
      XCTAssertEqual(answer.sender?.userID, geteuid())
      for id in 100..<200 { XCTAssertEqual(try right.request(Message(id: UInt32(id), bytes: "x")).id, UInt32(id)) }
      try right.send(Message(id: 3))
    }
    XCTAssertEqual(peer.wait(), 0)
    XCTAssertFalse(NameFolder.names.contains(name))
  }

  func test_RLK_WIRE_2_theSameCodeWithinAProcess() {
    let name = NameFolder.newName()
    onThread {
      let port = try Port(
        registeredAs: name, replying: { _, message in Message(id: message.id + 1, message.components) })
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      let answer = try right.request(Message(id: 150, bytes: "hello"))
      XCTAssertEqual(answer.id, 151)
      XCTAssertEqual(answer.bytes, "hello")
      XCTAssertEqual(answer.sender?.processID, getpid())
      port.invalidate()
      // The news comes on the connection. A request that overtakes it is one that nobody answers (`.noReply`).
      yieldUntil(!right.isValid)
      XCTAssertEqual(thrown { try right.request(Message()) }, .portInvalid)
      XCTAssertEqual(thrown { try Port.connect(to: name) }, .noSuchPort)
      serving.stop()
    }
  }

  func test_RLK_WIRE_3_payloadsOfAnySize() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let right = try Port.connect(to: name)
      for size in [0, 1, 4095, 65535, 65536, 65537, 1 << 20, 16 << 20] {
        let bytes = ProcessPortTests.patterned(size)
        let answer = try right.request(Message(id: 1, bytes: bytes))
        XCTAssertEqual(answer.bytes, bytes, "\(size)")
      }
      let shared = try Message.Bytes(sharing: 1 << 20) { memory in
        memory.initializeMemory(as: UInt8.self, repeating: 3)
        return 1_000_000
      }
      XCTAssertEqual(shared.count, 1_000_000)
      for _ in 0..<3 { XCTAssertEqual(try right.request(Message(id: 1, bytes: shared)).bytes, shared) }
      let parts = (0..<100).map {
        Message.Component.bytes(Message.Bytes([UInt8](repeating: UInt8($0), count: $0 * 50)))
      }
      let answer = try right.request(Message(id: 1, parts))
      XCTAssertEqual(answer.components.count, 100)
      for (index, component) in answer.components.enumerated() {
        guard case .bytes(let bytes) = component else { return XCTFail("no bytes") }
        XCTAssertEqual(bytes, Message.Bytes([UInt8](repeating: UInt8(index), count: index * 50)))
        XCTAssertEqual(bytes.startIndex, 0)
      }
    }
    withExtendedLifetime(peer) {}
  }

  func test_RLK_WIRE_4_from0To253Descriptors() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let right = try Port.connect(to: name)
      _ = try right.request(Message(id: 1))
      let (mine, theirs) = (openDescriptors(), peer.descriptors)
      for count in [0, 1, 2, 100, 252, 253] {
        let descriptors = try (0..<count).map { _ in try Message.Descriptor(duplicating: 0) }
        let answer = try right.request(Message(id: 1, descriptors.map { .descriptor($0) }))
        XCTAssertEqual(answer.descriptors.count, count)
        for descriptor in descriptors { XCTAssertEqual(descriptor.fileDescriptor, -1) }
        for descriptor in answer.descriptors {
          XCTAssertGreaterThanOrEqual(fcntl(descriptor.fileDescriptor, F_GETFD), 0)
          XCTAssertEqual(fcntl(descriptor.fileDescriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC)
        }
      }
      let tooMany = try (0..<254).map { _ in try Message.Descriptor(duplicating: 0) }
      XCTAssertEqual(thrown { try right.send(Message(tooMany.map { .descriptor($0) })) }, .tooManyDescriptors)
      for descriptor in tooMany { XCTAssertGreaterThanOrEqual(descriptor.fileDescriptor, 0) }
      // A large payload takes one.
      let almost = Array(tooMany.dropLast())
      let large = Message.Bytes([UInt8](repeating: 1, count: 100_000))
      XCTAssertEqual(
        thrown { try right.send(Message([.bytes(large)] + almost.map { .descriptor($0) })) }, .tooManyDescriptors)
      XCTAssertEqual(
        try right.request(Message(id: 1, [.bytes(large)] + almost.dropLast().map { .descriptor($0) })).descriptors
          .count,
        252)
      for descriptor in tooMany where descriptor.fileDescriptor >= 0 { close(try descriptor.take()) }
      _ = try right.request(Message(id: 1))  // it has let go of the one before
      XCTAssertEqual(openDescriptors(), mine)
      XCTAssertEqual(peer.descriptors, theirs)
    }
  }

  private static func patterned(_ size: Int) -> Message.Bytes {
    Message.Bytes(unsafeUninitializedCapacity: size) { memory in
      memory.initializeMemory(as: UInt8.self, repeating: 1)
      for offset in stride(from: 0, to: size, by: 1021) { memory[offset] = UInt8(truncatingIfNeeded: offset &+ size) }
      return size
    }
  }

  func test_RLK_WIRE_5_aGigabyte_whereThereIsMemoryForIt() throws {
    let size = 1 << 30
    guard availableMemory() > 4 * size else { try skipCase("needs 4 GiB of free memory") }
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let right = try Port.connect(to: name)
      let bytes = try Message.Bytes(sharing: size) { memory in
        memory[0] = 1
        memory[size - 1] = 9
        return size
      }
      let answer = try right.request(Message(id: 1, bytes: bytes))
      XCTAssertEqual(answer.bytes?.count, size)
      XCTAssertEqual(answer.bytes?.first, 1)
      XCTAssertEqual(answer.bytes?[size - 1], 9)
    }
    withExtendedLifetime(peer) {}
  }

  func test_RLK_WIRE_6_whatAProcessSends_comesInItsOrder_alsoWhenItIsGone() {
    let name = NameFolder.newName()
    let count = 2000
    onThread {
      let (seen, isOrdered) = (Box<UInt32>(0), Box(true))
      let port = try Port(registeredAs: name, queueLimit: 8) { port, message in
        if message.id != seen.value { isOrdered.value = false }
        seen.value += 1
        if seen.value == count { port.invalidate() }
      }
      try RunLoop.current.add(port)
      let peer = Peer("send", name, count)
      XCTAssertEqual(try RunLoop.current.run(), .finished)
      XCTAssertEqual(seen.value, UInt32(count))
      XCTAssertTrue(isOrdered.value)
      XCTAssertEqual(peer.wait(), 0)
    }
  }

  /// In its queue there is room for four; what comes while the loop is away waits in the kernel, then in the sender.
  func test_RLK_WIRE_7_aSlowReader_makesTheSenderWait_andMemoryIsBounded() {
    let name = NameFolder.newName()
    onThread {
      let (other, seen) = (Port { _, _ in }, Box(0))
      let port = try Port(registeredAs: name, queueLimit: 4) { port, _ in
        seen.value += 1
        if seen.value == 500 { port.invalidate() }
      }
      try RunLoop.current.add(port, to: "slow")
      try RunLoop.current.add(other, to: "other")
      let right = try Port.connect(to: name)
      let large = Message.Bytes([UInt8](repeating: 1, count: 60_000))
      var sent = 0
      while thrown({ try right.trySend(Message(bytes: large)) }) == nil { sent += 1 }
      XCTAssertEqual(thrown { try right.trySend(Message(bytes: large)) }, .portFull)
      XCTAssertEqual(
        thrown { try right.send(Message(bytes: large), timeout: .milliseconds(5)) }, .timedOut)
      XCTAssertLessThan(sent, 100)
      let before = openDescriptors()
      let descriptor = try Message.Descriptor(duplicating: 0)
      XCTAssertEqual(thrown { try right.trySend(Message([.descriptor(descriptor)])) }, .portFull)
      XCTAssertGreaterThanOrEqual(descriptor.fileDescriptor, 0)  // the sender's still
      XCTAssertEqual(openDescriptors(), before + 1)
      let sender = TestThread {
        for _ in sent..<500 { try? right.send(Message(bytes: large)) }
      }
      XCTAssertEqual(try RunLoop.current.run(in: "slow"), .finished)
      sender.join()
      XCTAssertEqual(seen.value, 500)
    }
  }

  /// A mode that it enters while it waits for room is no reason to look again and again.
  func test_RLK_WIRE_19_aConnectionThatWaitsForRoom_restsInNewModesToo() {
    let name = NameFolder.newName()
    onThread {
      let loop = RunLoop.current
      let (seen, given) = (Box(0), Box<Port.SendRight?>(nil))
      let second = Port { _, _ in }
      let port = try Port(registeredAs: name, queueLimit: 1) { _, message in
        seen.value += 1
        try? message.reply?.send(Message([.right(second.sendRight)]))
      }
      let client = Port { _, message in given.value = message.rights.first }
      try loop.add(port, to: "first")
      try loop.add(client, to: "first")
      let right = try Port.connect(to: name)
      try right.send(Message(reply: client.sendRight))
      try loop.serve(in: "first") { given.value != nil }
      // Its connection serves two ports now: one is full, and the mode that runs is the other one's.
      try loop.add(second, to: "second")
      try port.sendRight.send(Message())
      for _ in 0..<2 { try right.send(Message()) }
      for _ in 0..<3 { _ = try loop.run(in: "second", for: .zero) }
      try loop.add(second, to: "third")
      let passes = Box(0)
      let observer = RunLoop.Observer(.beforeTimers, repeats: true) { _, _ in passes.value += 1 }
      try loop.add(observer, to: "third")
      _ = try loop.run(in: "third", for: .milliseconds(5))
      XCTAssertLessThan(passes.value, 10)
      try loop.serve(in: "first") { seen.value == 4 }
      for port in [port, client, second] { port.invalidate() }
      observer.invalidate()
    }
  }

  func test_RLK_WIRE_8_manyMessagesWithDescriptors_leaveNoneOpen() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let right = try Port.connect(to: name)
      _ = try right.request(Message(id: 1))
      let (mine, theirs) = (openDescriptors(), peer.descriptors)
      let count = isSlow ? 5_000 : 100_000
      for id in 0..<count {
        let descriptor = try Message.Descriptor(duplicating: 0)
        if id % 100 == 0 {
          XCTAssertEqual(try right.request(Message(id: 1, [.descriptor(descriptor)])).descriptors.count, 1)
        } else {
          try right.send(Message(id: 12, [.descriptor(descriptor)]))
        }
      }
      _ = try right.request(Message(id: 1))
      XCTAssertLessThanOrEqual(openDescriptors(), mine)  // what earlier tests have left may have ended
      XCTAssertEqual(peer.descriptors, theirs)
    }
  }

  func test_RLK_WIRE_9_theEndOfTheReceiver_isToldOnce_whoeverWaits() {
    for isAsking in [false, true] {
      let name = NameFolder.newName()
      let peer = Peer("serve", name)
      onThread {
        let right = try Port.connect(to: name)
        let (told, gate) = (Box(0), Gate())
        right.onInvalidation {
          told.value += 1
          gate.open()
        }
        XCTAssertTrue(right.isValid)
        if isAsking {
          // It keeps the message, and is killed when it has it.
          let killer = TestThread {
            _ = try? right.request(Message(id: 1))
            peer.kill()
          }
          XCTAssertEqual(thrown { try right.request(Message(id: 4)) }, .portInvalid)
          killer.join()
        } else {
          peer.kill()
        }
        gate.wait()
        XCTAssertEqual(told.value, 1)
        XCTAssertFalse(right.isValid)
        XCTAssertEqual(thrown { try right.send(Message()) }, .portInvalid)
        XCTAssertEqual(thrown { try right.trySend(Message()) }, .portInvalid)
        let late = Gate()
        right.onInvalidation { late.open() }
        late.wait()
      }
    }
  }

  func test_RLK_WIRE_10_anAnswerThatNobodyWillGive() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let right = try Port.connect(to: name)
      let isTold = Box(false)
      let asker = TestThread {
        onThread { XCTAssertEqual(thrown { try right.request(Message(id: 4)) }, .noReply) }
        isTold.value = true
      }
      // It keeps the message until one of these makes it drop what it has kept.
      while !isTold.value {
        try right.send(Message(id: 5))
        XCTAssertEqual(try right.request(Message(id: 1)).id, 1)
      }
      asker.join()
      XCTAssertEqual(
        thrown { try right.request(Message(id: 4), timeout: .milliseconds(5)) }, .timedOut)
      XCTAssertEqual(try right.request(Message(id: 1)).id, 1)
    }
    withExtendedLifetime(peer) {}
  }

  func test_RLK_WIRE_11_aRightTravels_andIsOneRight() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let right = try Port.connect(to: name)
      let own = try right.request(Message(id: 6)).rights[0]
      XCTAssertNotEqual(own, right)
      XCTAssertEqual(try own.request(Message(id: 5, bytes: "a")).id, 1005)
      // It comes back as what it is.
      XCTAssertEqual(try right.request(Message(id: 1, [.right(own), .right(right)])).rights, [own, right])
      let mine = Port { _, _ in }
      XCTAssertEqual(try right.request(Message(id: 1, [.right(mine.sendRight)])).rights, [mine.sendRight])
      let told = Gate()
      own.onInvalidation { told.open() }
      try right.send(Message(id: 7))
      told.wait()
      XCTAssertFalse(own.isValid)
      XCTAssertEqual(thrown { try own.send(Message()) }, .portInvalid)
      XCTAssertTrue(right.isValid)
      XCTAssertEqual(try right.request(Message(id: 1)).id, 1)
    }
    withExtendedLifetime(peer) {}
  }

  /// Two others, who get to know each other through this process, and deal without it.
  func test_RLK_WIRE_12_introduction() {
    let names = [NameFolder.newName(), NameFolder.newName()]
    let peers = names.map { Peer("serve", $0) }
    onThread {
      let rights = try names.map { try Port.connect(to: $0) }
      // The first sends to the second's port, with a right to answer that comes from here.
      let answer = try rights[0].request(Message(id: 8, [.right(rights[1])]))
      XCTAssertEqual(answer.id, 13)
      XCTAssertEqual(answer.bytes, "from the third")
      XCTAssertEqual(answer.sender?.processID, peers[1].processID)
      // A right of the second's, given to the first, kept there, and used when this process's connection is gone.
      let own = try rights[1].request(Message(id: 6)).rights[0]
      XCTAssertEqual(try rights[0].request(Message(id: 1, [.right(own)])).rights.count, 1)
    }
    withExtendedLifetime(peers) {}
  }

  func test_RLK_WIRE_13_connectionsEnd_whenNobodyHasARightAnyMore() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let mine = Port { _, _ in }
      try RunLoop.current.add(mine)
      let kept = try Port.connect(to: name)
      _ = try kept.request(Message(id: 1))
      let (here, there) = (openDescriptors(), peer.descriptors)
      for id in 100..<200 {
        let right = try Port.connect(to: name)
        XCTAssertEqual(try right.request(Message(id: UInt32(id), [.right(mine.sendRight)])).id, UInt32(id))
      }
      // The last ones' ends are on their way: each answer lets one more packet be read.
      var tries = 0
      while openDescriptors() > here || peer.descriptors > there, tries < 10_000 {
        _ = try kept.request(Message(id: 1))
        _ = try RunLoop.current.run(in: .default, for: .zero)
        tries += 1
      }
      XCTAssertEqual(openDescriptors(), here)
      XCTAssertEqual(peer.descriptors, there)
      mine.invalidate()
    }
  }

  func test_RLK_WIRE_14_namesHaveOneOwner_andADeadOnesIsTakenOver() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    XCTAssertEqual(thrown { try Port(registeredAs: name) { _, _ in } }, .nameTaken)
    peer.kill()
    XCTAssertEqual(thrown { try Port.connect(to: name) }, .noSuchPort)
    XCTAssertTrue(NameFolder.names.contains(name))  // left behind
    onThread {
      let port = try Port(registeredAs: name) { _, _ in }
      XCTAssertEqual(port.name, name)
      XCTAssertEqual(thrown { try Port(registeredAs: name) { _, _ in } }, .nameTaken)
      XCTAssertNil(thrown { try Port.connect(to: name) })
      port.invalidate()
      let again = try Port(registeredAs: name) { _, _ in }
      again.invalidate()
    }
    XCTAssertFalse(NameFolder.names.contains(name))
    for bad in ["", ".x", "a/b", "x.lock", String(repeating: "x", count: 65)] {
      XCTAssertEqual(thrown { try Port(registeredAs: bad) { _, _ in } }, .badName)
      XCTAssertEqual(thrown { try Port.connect(to: bad) }, .badName)
    }
  }

  func test_RLK_WIRE_15_aFolderThatIsOpenToOthersIsRefused() {
    let name = NameFolder.newName()
    Peer("serve", name).kill()  // the folder is there
    chmod(NameFolder.path, 0o755)
    defer { chmod(NameFolder.path, 0o700) }
    XCTAssertEqual(systemError { _ = try Port(registeredAs: name) { _, _ in } }, EPERM)
    XCTAssertEqual(systemError { _ = try Port.connect(to: name) }, EPERM)
  }

  /// The receiver dies after each of the first steps of what it does with a message.
  func test_RLK_WIRE_16_aPeerIsKilledAtAnyMoment() {
    onThread {
      for step in 0..<(isSlow ? 6 : 30) {
        let name = NameFolder.newName()
        let peer = Peer("serve", name)
        let right = try Port.connect(to: name)
        let bytes = Message.Bytes([UInt8](repeating: 1, count: 200_000))
        let killer = TestThread {
          // So many answers later, whatever the other thread is doing then.
          for _ in 0..<step { _ = try? right.request(Message(id: 1)) }
          peer.kill()
        }
        var failure: RunLoopError?
        while failure == nil {
          let descriptor = try Message.Descriptor(duplicating: 0)
          failure = thrown { try right.request(Message(id: 1, [.bytes(bytes), .descriptor(descriptor)])) }
        }
        killer.join()
        XCTAssertEqual(failure, .portInvalid)
        XCTAssertFalse(right.isValid)
      }
    }
  }

  func test_RLK_WIRE_17_aSenderIsKilledAtAnyMoment_othersAreServed() {
    let name = NameFolder.newName()
    onThread {
      let (seen, step) = (Box(0), Box(0))
      let gate = Box<Peer?>(nil)
      let port = try Port(registeredAs: name) { _, message in
        if message.reply != nil { try? message.reply?.send(message) }
        guard !message.descriptors.isEmpty else { return }
        seen.value += 1
        // What one has left behind comes while the next one is there.
        guard seen.value >= step.value, let peer = gate.value, peer.processID == message.sender?.processID else {
          return
        }
        peer.send(SIGKILL)
      }
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      _ = try right.request(Message(bytes: "x"))
      let before = filesBesideLoops()
      for count in 1..<(isSlow ? 5 : 20) {
        seen.value = 0
        step.value = count * 3
        let peer = Peer("flood", name, count * 9000, isReady: false)
        gate.value = peer
        peer.wait()
        XCTAssertEqual(try right.request(Message(bytes: "x")).bytes, "x")
        gate.value = nil
      }
      try settle(among: before) { _ = try right.request(Message(bytes: "x")) }
      serving.stop()
    }
  }

  func test_RLK_WIRE_18_aChildOfForkLeavesItsParentsConnectionsAlone() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let (right, port) = try connected(to: name)
      let child = test_fork()
      if child == 0 {
        var isForked = thrown { try right.send(Message()) } == .forked && !right.isValid && !port.isValid
        isForked = isForked && thrown { try port.onNameLoss { _ in } } == .forked && !port.ownsName
        port.invalidate()
        _exit(isForked ? 0 : 1)
      }
      var status: Int32 = -1
      waitpid(child, &status, 0)
      XCTAssertEqual(status, 0)
      XCTAssertEqual(try right.request(Message(id: 1)).id, 1)
      XCTAssertNil(thrown { try Port.connect(to: name + "p") })
      port.invalidate()
    }
    withExtendedLifetime(peer) {}
  }
}

private func availableMemory() -> Int {
  guard let file = fopen("/proc/meminfo", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  while fgets(&line, 256, file) != nil {
    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if text.hasPrefix("MemAvailable:") { return (Int(text.split(separator: " ")[1]) ?? 0) * 1024 }
  }
  return 0
}
