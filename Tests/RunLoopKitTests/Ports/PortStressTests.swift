import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Ports among threads, processes and what they cost.
final class PortStressTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  func test_RLK_MSG_38_inAChildOfFork_rightsAreRefused_andTheParentLosesNothing() {
    onThread {
      let (loop, ids) = (RunLoop.current, Box<[UInt32]>([]))
      let port = Port { _, message in
        ids.update { $0.append(message.id) }
        if message.id == 2 { loop.stop() }
      }
      try loop.add(port)
      try port.sendRight.send(Message(id: 1))
      inChild { checks in
        checks.equal(thrown { try port.sendRight.send(Message(id: 9)) }, .forked)
        checks.equal(thrown { try port.sendRight.trySend(Message(id: 9)) }, .forked)
        checks.that(!port.sendRight.isValid && !port.isValid)
        port.invalidate()
        let own = Port(replying: { Message(id: $1.id + 1) })
        try RunLoop.current.add(own)
        checks.equal(try own.sendRight.request(Message(id: 5)).id, 6)
      }
      try port.sendRight.send(Message(id: 2))
      XCTAssertEqual(try loop.run(for: .seconds(60)), .stopped)
      XCTAssertEqual(ids.value, [1, 2])
    }
  }

  func test_RLK_MSG_39_aMessageToARunningLoop_isNoSystemCall() {
    onThread {
      let (loop, left) = (RunLoop.current, Counter(630))
      let port = Port { port, message in
        if left.countDown() { return loop.stop() }
        try! port.sendRight.send(message)
      }
      try loop.add(port)
      try port.sendRight.send(Message(bytes: "again"))
      let counts = try CountingKernel.count { XCTAssertEqual(try loop.run(), .stopped) }
      // A mode that the kernel has nothing to tell of asks it once in a while.
      XCTAssertEqual(counts.writes, 0)
      XCTAssertLessThanOrEqual(counts.waits, 11)
    }
  }

  func test_RLK_MSG_40_aMessageToASleepingLoop_isOneWriteAndItsWait() {
    onThread {
      let (loop, count) = (RunLoop.current, 50)
      let served = Box(0)
      let port = Port { _, _ in served.value += 1 }
      try loop.add(port)
      try loop.run(for: .zero)
      let sender = TestThread {
        for index in 0..<count {
          yieldUntil(loop.isWaiting && served.value >= index)
          try! port.sendRight.send(Message())
        }
        yieldUntil(loop.isWaiting && served.value >= count)
        loop.stop()
      }
      let counts = try CountingKernel.count { XCTAssertEqual(try loop.run(), .stopped) }
      sender.join()
      XCTAssertEqual(served.value, count)
      XCTAssertEqual(counts.writes, count + 1)
      XCTAssertEqual(counts.waits, count + 1)
    }
  }

  func test_RLK_MSG_41_aPortThatCannotBeAdded_isNoMember() {
    onThread {
      let port = Port { _, _ in }
      // Every call that adding to a first mode makes, in its turn.
      var call = 0
      repeat {
        call += 1
        Faults.plan(call: call)
        let number = systemError { try RunLoop.current.add(port) }
        guard Faults.end() else { break }
        XCTAssertNotEqual(number, 0)
        XCTAssertFalse(RunLoop.current.contains(port))
        XCTAssertTrue(RunLoop.current.isEmpty(in: .default))
      } while call < 20
      XCTAssertEqual(call, 3)  // the first has left the loop its eventfd
      RunLoop.current.remove(port)
      XCTAssertTrue(try RunLoop.current.add(port))
    }
  }

  /// What takes its connections is refused: without that its peers would wait for ever.
  func test_RLK_WIRE_29_aNamedPortThatCannotTakeConnections_isNotAdded() {
    onThread {
      let (name, loop) = (NameFolder.newName(), RunLoop.current)
      let port = try Port(registeredAs: name, replying: { _, message in message })
      for mode in [.default, .common, "second"] as [RunLoop.Mode] { try loop.add(Port { _, _ in }, to: mode) }
      loop.addCommonMode("second")
      CountingKernel.script.control = { -ENOSPC }
      defer { CountingKernel.script.control = nil }
      for mode in [.default, .common] as [RunLoop.Mode] {
        XCTAssertEqual(systemError { try loop.add(port, to: mode) }, ENOSPC)
        for mode in [.default, .common, "second"] as [RunLoop.Mode] { XCTAssertFalse(loop.contains(port, in: mode)) }
      }
      CountingKernel.script.control = nil
      XCTAssertTrue(try loop.add(port, to: "second"))
      CountingKernel.script.control = { -ENOSPC }
      XCTAssertEqual(systemError { try loop.add(port, to: .common) }, ENOSPC)
      XCTAssertTrue(loop.contains(port, in: "second"))  // as it was
      XCTAssertFalse(loop.contains(port))
      CountingKernel.script.control = nil
      XCTAssertTrue(try loop.add(port, to: .common))
      XCTAssertEqual(try Port.connect(to: name).request(Message(id: 5), timeout: .seconds(20)).id, 5)
      port.invalidate()
    }
  }

  /// Everything at once; what is checked is that each message has one end, and each request an answer or an error.
  func test_RLK_MSG_42_manyThreads() {
    let rounds = 60
    let (counter, before) = (EventCounter(), openDescriptors())
    for round in 0..<rounds {
      let port = Box<Port?>(
        Port(queueLimit: 1 + round % 5) { _, message in
          if message.id % 7 == 0 { try? message.reply?.send(Message(id: message.id)) }
        })
      let right = port.value!.sendRight
      let (loops, isOver) = (Box<[RunLoop]>([]), Box(false))
      let servers = (0..<2).map { index in
        TestThread {
          let loop = RunLoop.current
          _ = try? loop.add(RunLoop.Timer.never())
          loop.addCommonMode("second")
          loops.update { $0.append(loop) }
          while !isOver.value {
            if let port = port.value { _ = try? loop.add(port, to: index == 0 ? .common : .default) }
            _ = try? loop.run(in: .default, for: .microseconds(300))
            if index == 0 { _ = try? loop.run(in: "second", for: .zero) }
            if let port = port.value { loop.remove(port, from: index == 0 ? .common : .default) }
          }
        }
      }
      let senders = (0..<3).map { index in
        TestThread {
          let bell = Port { _, _ in }
          for id in 0..<40 {
            let timeout = Duration.milliseconds(20)
            do {
              if id % 4 == index {
                _ = try right.request(Message(id: UInt32(id)), timeout: timeout, in: "asking")
              } else {
                let descriptor = try Message.Descriptor(duplicating: counter.descriptor)
                try right.send(
                  Message(id: UInt32(id), [.descriptor(descriptor), .bytes("x")], reply: bell.sendRight),
                  timeout: timeout)
              }
            } catch {
              let expected: [RunLoopError?] = [.portInvalid, .timedOut, .noReply]
              XCTAssertTrue(expected.contains(error as? RunLoopError), "\(error)")
            }
          }
          bell.invalidate()
        }
      }
      let killer = TestThread {
        guard round % 2 == 0 else { return }
        for _ in 0..<(round * 10) { sched_yield() }
        port.value!.invalidate()
      }
      for thread in senders + [killer] { thread.join() }
      isOver.value = true
      for loop in loops.value { loop.wakeUp() }
      for thread in servers { thread.join() }
      port.value = nil
      XCTAssertFalse(right.isValid)
    }
    XCTAssertEqual(openDescriptors(), before)
  }
}
