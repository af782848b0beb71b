import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Ports whose loops have ended, though somebody holds them: nobody would ever answer.
final class LoopEndTests: XCTestCase {
  private static func echo() -> Port { Port(replying: { _, message in message }) }

  func test_RLK_MSG_50_aPortOfAThreadThatHasEnded_tellsItsSenders() {
    onThread {
      for ending in [RunLoop.Thread.Ending.afterDueWork, .now] {
        let (port, told) = (Self.echo(), Box(0))
        let right = port.sendRight
        right.onInvalidation { told.value += 1 }
        let thread = RunLoop.Thread(name: "worker") { loop in try loop.add(port, to: .common) }
        try thread.start()
        XCTAssertEqual(try right.request(Message(id: 1)).id, 1)
        thread.stop(ending)
        try thread.join()
        XCTAssertEqual(told.value, 1)
        XCTAssertFalse(port.isValid)
        XCTAssertFalse(right.isValid)
        XCTAssertEqual(thrown { try right.send(Message()) }, .portInvalid)
        XCTAssertEqual(thrown { try right.trySend(Message()) }, .portInvalid)
        XCTAssertEqual(thrown { try right.request(Message()) }, .portInvalid)
        withExtendedLifetime(port) {}
      }
    }
    XCTAssertEqual("\(RunLoopError.portInvalid)", "the port is gone, or the last loop that served it has ended")
  }

  /// In its queue when the thread ends, and waiting for room in it.
  func test_RLK_MSG_51_whoWaitsWhenTheThreadEnds_isTold() {
    onThread {
      let port = Port(queueLimit: 1, replying: { _, message in message })
      let thread = RunLoop.Thread(name: "worker") { loop in try loop.add(port, to: "never run") }
      try thread.start()
      let right = port.sendRight
      let asker = TestThread { XCTAssertEqual(thrown { try right.request(Message()) }, .noReply) }
      yieldUntil(port.pendingCount != 0)
      let senders = [
        TestThread { XCTAssertEqual(thrown { try right.request(Message()) }, .portInvalid) },
        TestThread { XCTAssertEqual(thrown { try right.send(Message()) }, .portInvalid) },
      ]
      thread.stop(.now)
      try thread.join()
      for waiting in senders + [asker] { waiting.join() }
    }
  }

  /// Handing over is adding it to the next loop before the first one ends.
  func test_RLK_MSG_52_aPortInAnotherLoop_goesOn() {
    onThread {
      let (loop, port, seen) = (RunLoop.current, Box<Port?>(nil), Box(0))
      port.value = Port { _, _ in seen.value += 1 }
      let thread = RunLoop.Thread(name: "worker") { loop in try loop.add(port.value!) }
      try thread.start()
      try loop.add(port.value!)
      thread.stop(.now)
      try thread.join()
      XCTAssertTrue(port.value!.isValid)
      try port.value!.sendRight.send(Message())
      XCTAssertEqual(try loop.run(for: .seconds(20), returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(seen.value, 1)
      // One that was taken out, and is in no loop when the thread ends, waits for another one.
      let kept = Port { _, _ in seen.value += 1 }
      let second = RunLoop.Thread(name: "worker") { loop in
        try loop.add(kept)
        loop.remove(kept)
      }
      try second.start()
      second.stop(.now)
      try second.join()
      try kept.sendRight.send(Message())
      try loop.add(kept)
      XCTAssertEqual(try loop.run(for: .seconds(20), returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(seen.value, 2)
    }
  }

  func test_RLK_MSG_53_anotherProcessIsTold_andTheNameIsFree() {
    let name = NameFolder.newName()
    onThread {
      let port = try Port(registeredAs: name, replying: { _, message in message })
      let thread = RunLoop.Thread(name: "worker") { loop in try loop.add(port) }
      try thread.start()
      let (right, told) = (try Port.connect(to: name), Gate())
      XCTAssertEqual(try right.request(Message(id: 1)).id, 1)
      right.onInvalidation { told.open() }
      thread.stop(.now)
      try thread.join()
      told.wait()
      XCTAssertEqual(thrown { try right.request(Message()) }, .portInvalid)
      XCTAssertEqual(thrown { try Port.connect(to: name) }, .noSuchPort)
      XCTAssertNil(thrown { try Port(registeredAs: name) { _, _ in } })
      withExtendedLifetime(port) {}
    }
  }
}
