import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Answers.
final class RequestTests: XCTestCase {
  /// A port that answers on a thread of its own, until it is invalidated.
  private func serve(_ port: Port, _ body: (Port.SendRight) throws -> Void) throws {
    let (isReady, loop) = (Gate(), Box<RunLoop?>(nil))
    let thread = TestThread {
      loop.value = RunLoop.current
      _ = try? RunLoop.current.add(port)
      isReady.open()
      _ = try? RunLoop.current.run()
    }
    isReady.wait()
    defer {
      port.invalidate()
      loop.value!.wakeUp()
      thread.join()
    }
    try body(port.sendRight)
  }

  private static func doubling() -> Port { Port(replying: { Message(id: $1.id * 2, $1.components) }) }

  func test_RLK_MSG_20_aReplyThatIsReturned_isSent() {
    onThread {
      try self.serve(Self.doubling()) { right in
        let (loop, ids) = (RunLoop.current, Box<[UInt32]>([]))
        let answers = Port { port, message in
          ids.update { $0.append(message.id) }
          if message.id == 20 { port.invalidate() }
        }
        try loop.add(answers)
        for id in 1...10 { try right.send(Message(id: UInt32(id), reply: answers.sendRight)) }
        XCTAssertEqual(try loop.run(), .finished)
        XCTAssertEqual(ids.value, (1...10).map { $0 * 2 })
      }
    }
  }

  func test_RLK_MSG_21_anAnswerToADeadPort_isAnErrorAndCounted() {
    onThread {
      let loop = RunLoop.current
      let dead = Port { _, _ in }
      let replying = Self.doubling()
      let errors = Box<[RunLoopError?]>([])
      let sending = Port { _, message in
        errors.update { $0.append(thrown { try message.reply!.send(Message()) }) }
      }
      for port in [replying, sending] {
        try loop.add(port)
        try port.sendRight.send(Message(id: 1, reply: dead.sendRight))
      }
      dead.invalidate()
      while replying.pendingCount + sending.pendingCount > 0 { try loop.run(for: .zero) }
      XCTAssertEqual(replying.undeliveredReplies, 1)
      XCTAssertEqual(errors.value, [.portInvalid])
    }
  }

  func test_RLK_MSG_22_aRequestWaitsForItsAnswer_inAModeOfItsOwn() {
    onThread {
      try self.serve(Self.doubling()) { right in
        let (loop, calls) = (RunLoop.current, Box(0))
        let other = Port { _, _ in calls.value += 1 }
        try loop.add(other)
        try other.sendRight.send(Message())
        for id in 1...50 {
          let answer = try right.request(Message(id: UInt32(id), bytes: "same"), in: "asking")
          XCTAssertEqual(answer.id, UInt32(id * 2))
          XCTAssertEqual(answer.bytes, "same")
        }
        XCTAssertEqual(calls.value, 0)
        XCTAssertTrue(loop.isEmpty(in: "asking"))
        XCTAssertEqual(
          thrown { try right.request(Message(), in: .common) }, .commonModeNotRunnable)
      }
    }
  }

  func test_RLK_MSG_23_aRequestInTime_orNot() {
    onThread {
      let kept = Box<Port.SendRight?>(nil)
      let isKept = Gate()
      let port = Port { _, message in
        kept.value = message.reply
        isKept.open()
      }
      try self.serve(port) { right in
        XCTAssertEqual(thrown { try right.request(Message(), timeout: .milliseconds(10), in: "asking") }, .timedOut)
        isKept.wait()
        // Too late: an error for who answers.
        XCTAssertFalse(kept.value!.isValid)
        XCTAssertEqual(thrown { try kept.value!.send(Message()) }, .portInvalid)
      }
    }
  }

  func test_RLK_MSG_24_aRightToAnswerThatIsDropped_tellsWhoHasAsked() {
    onThread {
      try self.serve(Port { _, _ in }) { right in
        XCTAssertEqual(thrown { try right.request(Message(), in: "asking") }, .noReply)
      }
      try self.serve(Port(replying: { _, _ in nil })) { right in
        XCTAssertEqual(thrown { try right.request(Message(), in: "asking") }, .noReply)
      }
      // The port dies with the request in its queue.
      let port = Port { _, _ in }
      let right = port.sendRight
      let sender = TestThread { XCTAssertEqual(thrown { try right.request(Message()) }, .noReply) }
      yieldUntil(port.pendingCount != 0)
      port.invalidate()
      sender.join()
      XCTAssertEqual(thrown { try right.request(Message()) }, .portInvalid)
    }
  }

  func test_RLK_MSG_25_anAnswerIsGivenOnce() {
    onThread {
      let port = Port { _, message in
        let reply = message.reply!
        XCTAssertTrue(reply.isValid)
        XCTAssertNil(thrown { try reply.send(Message(id: 1)) })
        XCTAssertFalse(reply.isValid)
        XCTAssertEqual(thrown { try reply.send(Message(id: 2)) }, .portInvalid)
      }
      try self.serve(port) { right in
        XCTAssertEqual(try right.request(Message(), in: "asking").id, 1)
      }
    }
  }

  /// One loop asks itself, and is asked while it waits.
  func test_RLK_MSG_26_requestsInRequests() {
    onThread {
      let loop = RunLoop.current
      let (inner, outer) = (Self.doubling(), Box<Port?>(nil))
      outer.value = Port(replying: { _, message in
        let answer = try? inner.sendRight.request(message)
        return answer.map { Message(id: $0.id + 1) }
      })
      try loop.add(inner)
      try loop.add(outer.value!)
      XCTAssertEqual(try outer.value!.sendRight.request(Message(id: 20)).id, 41)
    }
  }

  func test_RLK_MSG_27_aStopDuringARequest_endsTheRunAroundIt() {
    onThread {
      let loop = RunLoop.current
      let answering = Port(replying: { _, message in
        // The asker's loop, which waits.
        loop.stop()
        return message
      })
      try self.serve(answering) { right in
        try loop.add(RunLoop.Timer.never())
        try loop.perform { XCTAssertEqual(try? right.request(Message(id: 9), in: "asking").id, 9) }
        XCTAssertEqual(try loop.run(for: .seconds(20)), .stopped)
      }
    }
  }

  /// The answer is served by a run above the one that waits for it, from a callout that is no source's.
  func test_RLK_MSG_28_anAnswerThatANestedRunServes_endsTheWait() {
    onThread {
      let hasBegun = Gate()
      let port = Port(replying: { _, message in
        hasBegun.wait()
        return Message(id: message.id * 2)
      })
      try self.serve(port) { right in
        let loop = RunLoop.current
        for moment in [RunLoop.Activity.beforeTimers, .beforeWaiting] {
          let hasNested = Box(false)
          let observer = RunLoop.Observer(moment) { _, _ in
            guard !hasNested.value else { return }
            hasNested.value = true
            hasBegun.open()
            XCTAssertEqual(try? loop.run(for: .seconds(20), returnAfterSourceHandled: true), .handledSource)
          }
          try loop.add(observer)
          XCTAssertEqual(try right.request(Message(id: 4), timeout: .seconds(20)).id, 8)
          XCTAssertTrue(hasNested.value)
          observer.invalidate()
        }
      }
    }
  }

  /// Given, not awaited any more, or never to come: whichever ends it.
  func test_RLK_MSG_29_observersOfAnAnswer() {
    for error in [nil, .timedOut, .noReply] as [RunLoopError?] {
      onThread {
        let (told, kept, isKept) = (Box(0), Box<Port.SendRight?>(nil), Gate())
        let port = Port { _, message in
          let reply = message.reply!
          reply.onInvalidation { told.value += 1 }
          if error == nil { try? reply.send(Message()) }
          if error == .timedOut { kept.value = reply }
          isKept.open()
        }
        try self.serve(port) { right in
          let limit: Duration? = error == .timedOut ? .milliseconds(10) : nil
          XCTAssertEqual(thrown { try right.request(Message(), timeout: limit, in: "asking") }, error)
          isKept.wait()
        }
        XCTAssertEqual(told.value, 1, "\(error as Any)")
        kept.value?.onInvalidation { told.value += 1 }  // it is over
        XCTAssertEqual(told.value, kept.value == nil ? 1 : 2)
      }
    }
  }

  func test_RLK_MSG_30_aThreadThatIsToldToEndNow_doesNotWaitForAnAnswer() throws {
    let port = Port { _, _ in }
    let (right, error, isOver) = (port.sendRight, Box<RunLoopError?>(nil), Gate())
    let thread = RunLoop.Thread(name: "asker")
    try thread.start()
    try thread.loop!.perform {
      error.value = thrown { try right.request(Message(), in: "asking") }
      isOver.open()
    }
    yieldUntil(port.pendingCount != 0)
    thread.stop(.now)
    isOver.wait()
    XCTAssertEqual(error.value, .loopEnded)
  }
}
