import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

typealias Port = RunLoop.Port
typealias Message = RunLoop.Message

/// Of what several threads still have to do.
final class Counter: Sendable {
  private let left: Box<Int>

  init(_ count: Int) { left = Box(count) }

  var value: Int { left.value }

  /// True for the last one.
  func countDown() -> Bool {
    left.update { left in
      left -= 1
      return left == 0
    }
  }
}

/// A port's messages, as a member of modes.
final class PortTests: XCTestCase {
  private final class Receiver: RunLoop.PortDelegate, @unchecked Sendable {
    let told = Box<[String]>([])

    func port(_ port: Port, didReceive message: Message) {
      let isHere = RunLoop.current.contains(port)
      told.update { $0.append("\(message.id) \(message.components.count) \(isHere)") }
      try? message.reply?.send(Message(id: message.id + 1, bytes: "done"))
      port.invalidate()
    }
  }

  /// The story that users of the model know: a thread with a port, a message with an id and components, an answer.
  func test_RLK_MSG_1_aMessageGoesToADelegateOnTheReceiversLoop_andTheAnswerComesBack() {
    onThread {
      let receiver = Receiver()
      let (right, gate) = (Box<Port.SendRight?>(nil), Gate())
      let thread = TestThread {
        let port = Port(delegate: receiver)
        _ = try? RunLoop.current.add(port)
        right.value = port.sendRight
        gate.open()
        XCTAssertEqual(try? RunLoop.current.run(), .finished)  // the port alone keeps it, its delegate ends it
      }
      gate.wait()
      let answers = Box<[Message]>([])
      let answerPort = Port { port, message in
        answers.update { $0.append(message) }
        port.invalidate()
      }
      try RunLoop.current.add(answerPort)
      let message = Message(id: 150, [.bytes("hello"), .bytes([1, 2, 3])], reply: answerPort.sendRight)
      try right.value!.send(message)
      XCTAssertEqual(try RunLoop.current.run(), .finished)
      thread.join()
      XCTAssertEqual(receiver.told.value, ["150 2 true"])
      XCTAssertEqual(answers.value.map(\.id), [151])
      XCTAssertEqual(answers.value.first?.bytes, "done")
      XCTAssertNil(answers.value.first?.sender)
    }
  }

  func test_RLK_MSG_2_whatAThreadSends_comesInItsOrder() {
    onThread {
      let (senders, count) = (8, 2000)
      let (seen, total, isOrdered) = (Box([UInt32](repeating: 0, count: senders)), Box(0), Box(true))
      let port = Port(queueLimit: 64) { port, message in
        let sender = Int(message.bytes![0])
        seen.update { seen in
          if seen[sender] + 1 != message.id { isOrdered.value = false }
          seen[sender] = message.id
        }
        total.value += 1
        if total.value == senders * count { port.invalidate() }
      }
      try RunLoop.current.add(port)
      let right = port.sendRight
      let threads = (0..<senders).map { sender in
        TestThread {
          let bytes = Message.Bytes([UInt8(sender)])
          for id in 1...UInt32(count) { try! right.send(Message(id: id, bytes: bytes)) }
        }
      }
      XCTAssertEqual(try RunLoop.current.run(), .finished)
      for thread in threads { thread.join() }
      XCTAssertTrue(isOrdered.value)
      XCTAssertEqual(seen.value, [UInt32](repeating: UInt32(count), count: senders))
    }
  }

  func test_RLK_MSG_3_oneMessageAPass_andPollsServeThem() {
    onThread {
      let (loop, ids) = (RunLoop.current, Box<[UInt32]>([]))
      let port = Port { _, message in ids.update { $0.append(message.id) } }
      try loop.add(port)
      for id in 1...3 { try port.sendRight.trySend(Message(id: UInt32(id))) }
      XCTAssertEqual(port.pendingCount, 3)
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(ids.value, [1])
      XCTAssertEqual(try loop.run(for: .seconds(9), returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(ids.value, [1, 2])
      XCTAssertEqual(try loop.run(for: .zero, returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(try loop.run(for: .zero, returnAfterSourceHandled: true), .timedOut)
      XCTAssertEqual(ids.value, [1, 2, 3])
    }
  }

  func test_RLK_MSG_4_aMessageForAnotherMode_makesNoPass() {
    onThread {
      let (loop, ids) = (RunLoop.current, Box<[UInt32]>([]))
      let port = Port { _, message in ids.update { $0.append(message.id) } }
      try loop.add(port, to: "other")
      let timer = RunLoop.Timer.never()
      try loop.add(timer)
      loop.collectsStatistics = true
      let sender = TestThread {
        yieldUntil(loop.isWaiting)
        for id in 1...5 { try! port.sendRight.send(Message(id: UInt32(id))) }
        XCTAssertTrue(loop.isWaiting)
        loop.stop()
      }
      XCTAssertEqual(try loop.run(), .stopped)
      sender.join()
      XCTAssertEqual(loop.statistics.passes, 1)
      XCTAssertEqual(ids.value, [])
      while port.pendingCount > 0 { try loop.run(in: "other", for: .zero) }
      XCTAssertEqual(ids.value, [1, 2, 3, 4, 5])
    }
  }

  func test_RLK_MSG_5_whatWaitsIsReadyWhenThePortIsAdded_alsoToASleepingLoop() {
    onThread {
      let (loop, ids) = (RunLoop.current, Box<[UInt32]>([]))
      let port = Port { port, message in
        ids.update { $0.append(message.id) }
        port.invalidate()
        RunLoop.current.stop()
      }
      try port.sendRight.send(Message(id: 7))
      try loop.add(RunLoop.Timer.never())
      let adder = TestThread {
        yieldUntil(loop.isWaiting)
        _ = try? loop.add(port)
      }
      XCTAssertEqual(try loop.run(), .stopped)
      adder.join()
      XCTAssertEqual(ids.value, [7])
    }
  }

  func test_RLK_MSG_6_inCommonModes_andInSeveralLoops_eachMessageIsServedOnce() {
    onThread {
      let (loop, count) = (RunLoop.current, 3000)
      loop.addCommonMode("second")
      let served = Box([Int](repeating: 0, count: count))
      let (left, isReady) = (Counter(count), Gate())
      let port = Port(queueLimit: 16) { port, message in
        served.update { $0[Int(message.id)] += 1 }
        if left.countDown() { port.invalidate() }
      }
      try loop.add(port, to: .common)
      XCTAssertTrue(loop.contains(port, in: "second"))
      let otherLoop = Box<RunLoop?>(nil)
      let other = TestThread {
        otherLoop.value = RunLoop.current
        _ = try? RunLoop.current.add(port)
        isReady.open()
        XCTAssertEqual(try? RunLoop.current.run(), .finished)
      }
      isReady.wait()
      let sender = TestThread {
        for id in 0..<count { try! port.sendRight.send(Message(id: UInt32(id))) }
      }
      var turn = 0
      while left.value > 0 {
        turn += 1
        try loop.run(in: turn % 2 == 0 ? .default : "second", for: .microseconds(200), returnAfterSourceHandled: true)
      }
      otherLoop.value!.wakeUp()  // the port is gone; the thread that has ended it may be this one
      for thread in [other, sender] { thread.join() }
      XCTAssertEqual(served.value, [Int](repeating: 1, count: count))
      XCTAssertTrue(loop.isEmpty(in: .default))
    }
  }

  func test_RLK_MSG_7_portsAndDescriptorsTakeTurns() {
    onThread {
      let (loop, trace) = (RunLoop.current, Box(""))
      let counters = [EventCounter(), EventCounter()]
      for (index, counter) in counters.enumerated() {
        counter.add()
        let source = try RunLoop.FileDescriptorSource(fileDescriptor: counter.descriptor, interest: .readable) { _, _ in
          trace.value += "\(index)"
        }
        try loop.add(source)
      }
      for name in ["a", "b"] {
        let port = Port { port, message in
          trace.value += name
          try? port.sendRight.trySend(message)
        }
        try port.sendRight.trySend(Message())
        try port.sendRight.trySend(Message())
        try loop.add(port)
      }
      for _ in 0..<12 { try loop.run(for: .zero) }
      // Messages every second pass, the ports in turn; the descriptors in turn in between.
      let ports = trace.value.filter { "ab".contains($0) }
      XCTAssertEqual(ports, "ababab")
      XCTAssertEqual(trace.value.filter { "01".contains($0) }.count, 6)
      XCTAssertFalse(trace.value.contains("ab") || trace.value.contains("ba"), trace.value)
      withExtendedLifetime(counters) {}
    }
  }

  func test_RLK_MSG_8_invalidatedInItsCallout_thePortServesNoMore() {
    onThread {
      let (loop, calls) = (RunLoop.current, Box(0))
      let port = Port { port, _ in
        calls.value += 1
        port.invalidate()
        XCTAssertFalse(port.sendRight.isValid)
      }
      try loop.add(port)
      for _ in 0..<3 { try port.sendRight.send(Message()) }
      XCTAssertEqual(try loop.run(), .finished)
      XCTAssertEqual(calls.value, 1)
      XCTAssertEqual(port.pendingCount, 0)
      XCTAssertEqual(thrown { try port.sendRight.send(Message()) }, .portInvalid)
    }
  }

  func test_RLK_MSG_9_descriptionItemsAndStatistics() {
    onThread {
      let loop = RunLoop.current
      let port = Port(queueLimit: 3) { _, _ in }
      try loop.add(port)
      loop.collectsStatistics = true
      try port.sendRight.send(Message(id: 1, [.bytes("abc"), .right(port.sendRight)]))
      XCTAssertEqual(port.description, "<port, 1 of 3 messages, valid>")
      XCTAssertTrue(loop.description.contains("<port, 1 of 3 messages, valid>"))
      XCTAssertEqual(loop.items(in: .default), [port])
      try loop.run(for: .zero)
      XCTAssertEqual(loop.statistics.portCallouts, 1)
      XCTAssertTrue(loop.remove(port))
      XCTAssertEqual(loop.items(in: .default), [])
      XCTAssertTrue(loop.isEmpty(in: .default))
      let message = Message(id: 1, [.bytes("abc")], reply: port.sendRight)
      XCTAssertEqual(message.description, "<message 1: 3 bytes, to be answered>")
    }
  }

  /// Whichever of its modes it has left: a message wakes the loop in each of the others.
  func testAPortIsServedInTheModesThatItHasNotLeft() {
    let modes: [RunLoop.Mode] = [.default, "second", "third"]
    for left in modes {
      onThread {
        let (loop, port) = (RunLoop.current, Port { _, _ in })
        for mode in modes { try loop.add(port, to: mode) }
        XCTAssertTrue(loop.remove(port, from: left))
        for mode in modes where mode != left {
          let sender = TestThread {
            yieldUntil(loop.isWaiting)
            XCTAssertNil(thrown { try port.sendRight.send(Message()) })
          }
          XCTAssertEqual(try loop.run(in: mode, for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
          sender.join()
        }
        try port.sendRight.send(Message())
        XCTAssertEqual(try loop.run(in: left, for: .zero), .finished)
        XCTAssertEqual(port.pendingCount, 1)
      }
    }
  }

  func test_RLK_MSG_10_aNestedRunServesFurtherMessages() {
    onThread {
      let (loop, trace) = (RunLoop.current, Box(""))
      let port = Port { port, message in
        trace.value += "<\(message.id)"
        if message.id == 1 { _ = try? RunLoop.current.run(for: .zero) }
        trace.value += ">"
      }
      try loop.add(port)
      for id in 1...3 { try port.sendRight.send(Message(id: UInt32(id))) }
      try loop.run(for: .zero)
      try loop.run(for: .zero)
      XCTAssertEqual(trace.value, "<1<2>><3>")
    }
  }

  func test_RLK_MSG_11_inAHostsLoop() {
    onThread {
      let (loop, ids) = (RunLoop.current, Box<[UInt32]>([]))
      let port = Port { _, message in ids.update { $0.append(message.id) } }
      try loop.add(port)
      XCTAssertFalse(try loop.prepareToWait())
      let descriptor = try loop.hostDescriptor().fileDescriptor
      let sender = TestThread { for id in 1...2 { try! port.sendRight.send(Message(id: UInt32(id))) } }
      var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      XCTAssertEqual(poll(&polled, 1, -1), 1)
      sender.join()
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      XCTAssertEqual(ids.value, [1])
      XCTAssertTrue(try loop.prepareToWait())
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      XCTAssertEqual(ids.value, [1, 2])
      XCTAssertFalse(try loop.prepareToWait())
      try loop.runPendingWork()
    }
  }
}
