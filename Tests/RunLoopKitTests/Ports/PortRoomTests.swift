import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// A port that is full, and one that is gone.
final class PortRoomTests: XCTestCase {
  func test_RLK_MSG_12_aFullPort_isAnErrorForTrySend_andATimeoutForSend() {
    let port = Port(queueLimit: 2) { _, _ in }
    for _ in 0..<2 { XCTAssertNoThrow(try port.sendRight.trySend(Message())) }
    XCTAssertEqual(thrown { try port.sendRight.trySend(Message()) }, .portFull)
    let start = RunLoop.Instant.now
    let timeout = Duration.milliseconds(20)
    XCTAssertEqual(thrown { try port.sendRight.send(Message(), timeout: timeout) }, .timedOut)
    XCTAssertGreaterThanOrEqual(RunLoop.Instant.now, start.advanced(by: timeout))
    XCTAssertEqual(thrown { try port.sendRight.send(Message(), timeout: .zero) }, .timedOut)
    XCTAssertEqual(thrown { try port.sendRight.send(Message(), timeout: .seconds(-1)) }, .timedOut)
    XCTAssertEqual(port.pendingCount, 2)
  }

  func test_RLK_MSG_13_aSenderThatWaits_goesOnWhenThereIsRoom() {
    onThread {
      let (loop, ids) = (RunLoop.current, Box<[UInt32]>([]))
      let port = Port(queueLimit: 1) { port, message in
        ids.update { $0.append(message.id) }
        if message.id == 100 { port.invalidate() }
      }
      let right = port.sendRight
      let sender = TestThread { for id in 1...100 { try! right.send(Message(id: UInt32(id))) } }
      try loop.add(port)
      XCTAssertEqual(try loop.run(), .finished)
      sender.join()
      XCTAssertEqual(ids.value, Array(1...100))
    }
  }

  func test_RLK_MSG_14_whoSendsToItself_isToldSo() {
    onThread {
      let loop = RunLoop.current
      let port = Port(queueLimit: 1) { _, _ in }
      try loop.add(port)
      try port.sendRight.send(Message())
      XCTAssertEqual(thrown { try port.sendRight.send(Message()) }, .wouldDeadlock)
      XCTAssertEqual(thrown { try port.sendRight.send(Message(), timeout: .milliseconds(5)) }, .timedOut)
      try loop.run(for: .zero)
      XCTAssertNoThrow(try port.sendRight.send(Message()))
    }
  }

  /// Waiting senders and later ones.
  func test_RLK_MSG_15_whenTheReceiverDies_itsSendersAreTold() {
    for isReleased in [true, false] {
      var port: Port? = Port(queueLimit: 1) { _, _ in }
      let right = port!.sendRight
      XCTAssertNoThrow(try right.send(Message()))
      let (started, failures) = (Gate(), Box<[RunLoopError?]>([]))
      let senders = (0..<4).map { index in
        TestThread {
          started.open()
          let error = thrown { try right.send(Message(), timeout: index % 2 == 0 ? nil : .seconds(Int64.max)) }
          failures.update { $0.append(error) }
        }
      }
      for _ in senders { started.wait() }
      if isReleased { port = nil } else { port!.invalidate() }
      for sender in senders { sender.join() }
      XCTAssertEqual(failures.value, [.portInvalid, .portInvalid, .portInvalid, .portInvalid])
      XCTAssertFalse(right.isValid)
      XCTAssertEqual(thrown { try right.trySend(Message()) }, .portInvalid)
      withExtendedLifetime(port) {}
    }
  }

  func test_RLK_MSG_16_theEndOfALoopsThread_endsAPortThatNobodyElseHolds() {
    let (right, told, dropped) = (Box<Port.SendRight?>(nil), Box(0), Gate())
    TestThread {
      let port = Port { _, _ in XCTFail("nothing is served") }
      _ = try? RunLoop.current.add(port)
      right.value = port.sendRight
      port.sendRight.onInvalidation {
        told.value += 1
        dropped.open()
      }
      try? port.sendRight.send(Message(reply: port.sendRight))
    }.join()
    dropped.wait()
    XCTAssertEqual(told.value, 1)
    XCTAssertEqual(thrown { try right.value!.send(Message()) }, .portInvalid)
  }

  func test_RLK_MSG_17_observersOfInvalidation() {
    let told = Box<[Int]>([])
    let port = Port { _, _ in }
    let right = port.sendRight
    right.onInvalidation { told.update { $0.append(1) } }
    let cancelled = right.onInvalidation { told.update { $0.append(2) } }
    right.onInvalidation {
      XCTAssertEqual(thrown { try right.send(Message()) }, .portInvalid)
      told.update { $0.append(3) }
    }
    cancelled.cancel()
    port.invalidate()
    port.invalidate()
    XCTAssertEqual(told.value, [1, 3])
    let late = right.onInvalidation { told.update { $0.append(4) } }
    XCTAssertEqual(told.value, [1, 3, 4])
    late.cancel()
    cancelled.cancel()
  }

  /// The port, which lives on, forgets it; and so does the right to a port that has ended.
  func test_RLK_MSG_17_anObserverThatIsCancelledOrWasCalledIsGone() {
    let port = Port { _, _ in }
    let right = port.sendRight
    weak var left: Port.Observation?
    do {
      let observation = right.onInvalidation {}
      left = observation
      observation.cancel()
    }
    XCTAssertNil(left)
    XCTAssertTrue(port.isValid)
    left = right.onInvalidation {}
    XCTAssertNotNil(left)
    port.invalidate()
    XCTAssertNil(left)
    XCTAssertFalse(right.isValid)
  }

  func test_RLK_MSG_18_rightsAreEqualByTheirPort() {
    let (a, b) = (Port { _, _ in }, Port { _, _ in })
    XCTAssertEqual(a.sendRight, a.sendRight)
    XCTAssertNotEqual(a.sendRight, b.sendRight)
    XCTAssertEqual(Set([a.sendRight, b.sendRight, a.sendRight]).count, 2)
    a.invalidate()
    XCTAssertEqual(a.sendRight, a.sendRight)
    XCTAssertEqual(a.sendRight.description, "<send right to a port, invalid>")
  }

  func test_RLK_MSG_19_aPortWhoseDelegateIsGone_isInvalidatedByTheNextMessage() {
    final class Nobody: RunLoop.PortDelegate, Sendable {
      func port(_ port: Port, didReceive message: Message) { XCTFail("gone") }
    }
    onThread {
      let port = Port(delegate: Nobody())
      try RunLoop.current.add(port)
      try port.sendRight.send(Message())
      XCTAssertEqual(try RunLoop.current.run(), .finished)
      XCTAssertEqual(thrown { try port.sendRight.send(Message()) }, .portInvalid)
    }
  }
}
