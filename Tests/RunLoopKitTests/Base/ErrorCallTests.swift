import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Errors are equal whatever call they name, so each place that names one is asked here: it is the name of the declaration.
final class ErrorCallTests: XCTestCase {
  func test_RLK_ERROR_8_callsOfTheLoopsOwnThread() throws {
    let (made, mayEnd, loops) = (Gate(), Gate(), Box<[RunLoop]>([]))
    let other = TestThread {
      loops.value = [RunLoop.current]
      made.open()
      mayEnd.wait()
    }
    made.wait()
    let loop = loops.value[0]
    check("run(in:for:returnAfterSourceHandled:)", .wrongThread) { try loop.run(for: .zero) }
    check("run(in:until:returnAfterSourceHandled:)", .wrongThread) { try loop.run(until: .now) }
    check("runUntilStopped(in:)", .wrongThread) { try loop.runUntilStopped() }
    check("runAllModes(slice:until:)", .wrongThread) { try loop.runAllModes { true } }
    check("hostDescriptor(in:)", .wrongThread) { _ = try loop.hostDescriptor() }
    check("prepareToWait(in:)", .wrongThread) { _ = try loop.prepareToWait() }
    check("runPendingWork(in:)", .wrongThread) { try loop.runPendingWork() }
    let commit = try RunLoop.Commit(on: loop) {}
    check("flush()", .wrongThread) { _ = try commit.flush() }
    loops.value = []
    mayEnd.open()
    other.join()
  }

  func test_RLK_ERROR_8_callsThatNeedAMode() {
    onThread {
      let (loop, port) = (RunLoop.current, Port { _, _ in })
      check("runUntilStopped(in:)", .commonModeNotRunnable) { try loop.runUntilStopped(in: .common) }
      check("hostDescriptor(in:)", .commonModeNotRunnable) { _ = try loop.hostDescriptor(in: .common) }
      check("prepareToWait(in:)", .commonModeNotRunnable) { _ = try loop.prepareToWait(in: .common) }
      check("runPendingWork(in:)", .commonModeNotRunnable) { try loop.runPendingWork(in: .common) }
      check("request(_:timeout:in:)", .commonModeNotRunnable) {
        _ = try port.sendRight.request(Message(), in: .common)
      }
    }
  }

  func test_RLK_ERROR_8_callsThatAreMadeInside() {
    onThread {
      let (loop, calls) = (RunLoop.current, Box(0))
      let observer = RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in
        check("prepareToWait(in:)", .busy) { _ = try loop.prepareToWait() }
        check("runPendingWork(in:)", .busy) { try loop.runPendingWork() }
        calls.value += 1
      }
      try loop.add(observer)
      XCTAssertFalse(try loop.prepareToWait())
      check("prepareToWait(in:)", .hostedElsewhere) { _ = try loop.prepareToWait(in: .tracking) }
      check("runPendingWork(in:)", .hostedElsewhere) { try loop.runPendingWork(in: .tracking) }
      try loop.cancelWait()
      let timer = RunLoop.Timer(fireDate: .now) { timer in
        check("invalidateAndWait(timeout:)", .wouldDeadlock) { try timer.invalidateAndWait() }
        calls.value += 1
      }
      try loop.add(timer)
      _ = try loop.run(for: .zero)
      XCTAssertEqual(calls.value, 2)
      check("barrier(in:timeout:)", .wouldDeadlock) { try loop.barrier() }
      let port = Port(queueLimit: 1) { _, _ in }
      try loop.add(port)
      try port.sendRight.send(Message())
      check("send(_:timeout:)", .wouldDeadlock) { try port.sendRight.send(Message()) }
    }
    let (thread, isOver) = (RunLoop.Thread(name: "itself"), Gate())
    XCTAssertNoThrow(try thread.start())
    XCTAssertNoThrow(
      try thread.perform {
        check("join(timeout:)", .wouldDeadlock) { try thread.join() }
        isOver.open()
      })
    isOver.wait()
    thread.stop()
    XCTAssertNoThrow(try thread.join())
  }

  /// A value that is refused before the system was asked names no call.
  func test_RLK_ERROR_8_noCallWasMade() throws {
    XCTAssertNil(thrownCall { try RunLoop.PortSource(fileDescriptor: -1) { _ in } })
    XCTAssertNil(thrownCall { try RunLoop.Thread(name: "small", stackSize: 1).start() })
    let descriptor = try Message.Descriptor(duplicating: STDERR_FILENO)
    close(try descriptor.take())
    XCTAssertNil(thrownCall { try descriptor.take() })
    XCTAssertNil(thrownCall { try descriptor.duplicate() })
    XCTAssertEqual(thrownCall { try Message.Descriptor(duplicating: 999_999) }, "fcntl")
    XCTAssertEqual(thrownCall { try Port.connect(to: ".x") }, nil)
  }
}

private func check(_ call: String, _ error: RunLoopError, line: UInt = #line, _ body: () throws -> Void) {
  XCTAssertEqual(thrown(body), error, line: line)
  XCTAssertEqual(thrownCall(body), call, line: line)
}
