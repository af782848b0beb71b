import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Messages, requests and what else a loop has to do: nobody waits for ever, nothing is lost between them.
final class PortTurnTests: XCTestCase {
  /// The stop is taken by the request's run; the answer comes before the request has seen that.
  func test_RLK_MSG_43_aStopAndAnAnswer_atTheEndOfOneRun() {
    onThread {
      let (loop, kept) = (RunLoop.current, Box<Port.SendRight?>(nil))
      let port = Port { _, message in
        kept.value = message.reply
        loop.stop()
      }
      try loop.add(port, to: "asking")
      try loop.add(
        RunLoop.Observer(.exit) { _, _ in
          try? kept.value?.send(Message(id: 5))
          kept.value = nil
        }, to: "asking")
      try loop.add(RunLoop.Timer.never())
      try loop.perform { XCTAssertEqual(try? port.sendRight.request(Message(), in: "asking").id, 5) }
      XCTAssertEqual(try loop.run(for: .seconds(5)), .stopped)
    }
  }

  /// Who answers is told that it was sent, or who has asked that none came: never both.
  func test_RLK_MSG_44_anAnswerAtTheDeadline_comesOrIsRefused() {
    onThread {
      let (isReady, sent) = (Gate(), Box(0))
      let port = Port { _, message in
        if message.id == 0 { return RunLoop.current.stop() }
        if thrown({ try message.reply!.send(Message(id: 1)) }) == nil { sent.value += 1 }
      }
      let server = TestThread {
        RunLoop.current.spinLimit = .milliseconds(1)
        _ = try? RunLoop.current.add(port)
        isReady.open()
        _ = try? RunLoop.current.run()
      }
      isReady.wait()
      var came = 0
      for round in 0..<4000 {
        let timeout = Duration.microseconds(round % 64)
        if thrown({ try port.sendRight.request(Message(id: 1), timeout: timeout, in: "asking") }) == nil { came += 1 }
      }
      try port.sendRight.send(Message(id: 0))
      server.join()
      XCTAssertEqual(came, sent.value)
    }
  }

  /// A host that serves a descriptor which is always ready.
  func test_RLK_MSG_45_inAHostsLoop_portsAndDescriptorsTakeTurns() {
    onThread {
      let (loop, trace, counter) = (RunLoop.current, Box(""), EventCounter())
      counter.add()
      try loop.add(
        RunLoop.FileDescriptorSource(fileDescriptor: counter.descriptor, interest: .readable) { _, _ in
          trace.value += "d"
        })
      let port = Port { _, _ in trace.value += "m" }
      try loop.add(port)
      for _ in 0..<3 { try port.sendRight.send(Message()) }
      for _ in 0..<6 {
        XCTAssertTrue(try loop.prepareToWait())
        try loop.runPendingWork()
      }
      XCTAssertEqual(trace.value.filter { $0 == "m" }, "mmm")
      XCTAssertEqual(trace.value.filter { $0 == "d" }, "ddd")
      withExtendedLifetime(counter) {}
    }
  }

  /// Each callout of the descriptor makes a request: that its answer was a message is no turn of the other mode's.
  func test_RLK_MSG_46_turnsBelongToTheirMode() {
    onThread {
      let (loop, trace, counter) = (RunLoop.current, Box(""), EventCounter())
      counter.add()
      let answering = Port(replying: { _, message in message })
      try loop.add(answering, to: "asking")
      try loop.add(
        RunLoop.FileDescriptorSource(fileDescriptor: counter.descriptor, interest: .readable) { _, _ in
          trace.value += "d"
          XCTAssertNil(thrown { try answering.sendRight.request(Message(), in: "asking") })
        })
      let port = Port { _, _ in trace.value += "m" }
      try loop.add(port)
      for _ in 0..<3 { try port.sendRight.send(Message()) }
      for _ in 0..<6 { try loop.run(for: .zero) }
      XCTAssertEqual(trace.value.filter { $0 == "m" }, "mmm")
      XCTAssertEqual(trace.value.filter { $0 == "d" }, "ddd")
      withExtendedLifetime(counter) {}
    }
  }

  /// The other loop that serves the port leaves it while this thread waits for room.
  func test_RLK_MSG_47_whoIsLeftToServeThePortItWaitsFor_isToldSo() {
    onThread {
      let (loop, isReady) = (RunLoop.current, Gate())
      let port = Port(queueLimit: 1) { _, _ in XCTFail("nothing is served") }
      try port.sendRight.send(Message())
      try loop.add(port)
      let own = ownState()
      let remover = TestThread {
        _ = try? RunLoop.current.add(port)
        isReady.open()
        yieldUntil(isInKernelsSleep(own))
        RunLoop.current.remove(port)
      }
      isReady.wait()
      XCTAssertEqual(thrown { try port.sendRight.send(Message()) }, .wouldDeadlock)
      remover.join()
    }
  }

  func test_RLK_MSG_48_idleWorkWaitsForMessages() {
    onThread {
      let (loop, trace) = (RunLoop.current, Box(""))
      let port = Port { _, message in trace.value += "\(message.id)" }
      try loop.add(port)
      for id in 1...3 { try port.sendRight.send(Message(id: UInt32(id))) }
      try loop.performWhenIdle {
        trace.value += "idle"
        loop.stop()
      }
      XCTAssertEqual(try loop.run(for: .seconds(5)), .stopped)
      XCTAssertEqual(trace.value, "123idle")
    }
  }

  /// The connection that a request has used stays in its mode.
  func test_RLK_MSG_49_aModeWithNothingButAConnection_isFinished() {
    let name = NameFolder.newName()
    onThread {
      let loop = RunLoop.current
      let port = try Port(registeredAs: name, replying: { $1 })
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      XCTAssertEqual(try right.request(Message(id: 3)).id, 3)
      XCTAssertTrue(loop.isEmpty(in: .default))
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in })
      XCTAssertEqual(try loop.run(for: .seconds(5)), .finished)
      XCTAssertTrue(right.isValid)
      port.invalidate()
      serving.stop()
    }
  }

  /// A run of a mode that the port has left takes nothing for it from the kernel, where senders would find room then.
  func test_RLK_MSG_49_aConnectionLeavesAModeWithItsPort() {
    let name = NameFolder.newName()
    onThread {
      let (loop, ids) = (RunLoop.current, Box<[UInt32]>([]))
      let port = try Port(registeredAs: name) { _, message in
        ids.update { $0.append(message.id) }
        loop.stop()
      }
      for mode: RunLoop.Mode in ["old", "new"] { try loop.add(RunLoop.Timer.never(), to: mode) }
      try loop.add(port, to: "old")
      let peer = RawPeer(name)
      peer.send(frame(id: 1))
      XCTAssertEqual(try loop.run(in: "old", for: .seconds(30)), .stopped)
      loop.remove(port, from: "old")
      try loop.add(port, to: "new")
      peer.send(frame(id: 2))
      XCTAssertEqual(try loop.run(in: "old", for: .zero), .timedOut)
      XCTAssertEqual(port.pendingCount, 0)
      XCTAssertEqual(try loop.run(in: "new", for: .seconds(30)), .stopped)
      XCTAssertEqual(ids.value, [1, 2])
      port.invalidate()
    }
  }
}

/// The calling thread's state, as a file for other threads.
private func ownState() -> String {
  guard let path = realpath("/proc/thread-self", nil) else { return "" }
  defer { free(path) }
  return String(cString: path) + "/stat"
}

/// True if the kernel has put the thread to sleep.
private func isInKernelsSleep(_ state: String) -> Bool {
  let file = open(state, O_RDONLY)
  defer { close(file) }
  var bytes = [UInt8](repeating: 0, count: 128)
  let count = read(file, &bytes, bytes.count)
  return count > 0 && String(decoding: bytes[..<count], as: UTF8.self).contains(") S ")
}
