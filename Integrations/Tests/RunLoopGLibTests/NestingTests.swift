import CGLib
import CLeftDispatch
import Dispatch
import Glibc
import HostTestSupport
import RunLoopGLib
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// GLib inside the loop, and the loop inside GLib.
final class NestingTests: XCTestCase, @unchecked Sendable {
  private let loop = RunLoop.main
  private let log = Box<[String]>([])
  private var context: Context!
  private var host: GLibHost!

  override func setUpWithError() throws {
    context = Context()
    host = try GLibHost(of: loop, context: context.pointer)
  }

  override func tearDown() {
    host.detach()
    (host, context) = (nil, nil)
  }

  private func note(_ text: String) { log.update { $0.append(text) } }

  /// The context in a callout, until GLib's own timeout; how often GLib has polled.
  private func iterateForAWhile() -> Int {
    var isOver = false
    context.onTimeout(milliseconds: 20) {
      isOver = true
      return false
    }
    let before = Context.polls.value
    context.turn { isOver }
    return Context.polls.value - before
  }

  /// What comes meanwhile is served there, and GLib sleeps when that is done.
  func test_RLK_GLIB_5_aMainLoopInACallout() throws {
    let polls = Box(0)
    try loop.assumeOnLoop { local in
      try local.perform { [log] in
        onOtherThread {
          DispatchQueue.main.async { log.update { $0.append("queue") } }
          try? RunLoop.main.perform { log.update { $0.append("block") } }
        }
        polls.value = self.iterateForAWhile()
        self.note("over")
      }
    }
    context.turn { log.value.count == 3 }
    XCTAssertEqual(log.value.last, "over")
    XCTAssertEqual(Set(log.value), ["queue", "block", "over"])
    XCTAssertLessThanOrEqual(polls.value, 8)
  }

  /// As a dialogue: a timer of the loop goes on, and so does a timeout of GLib.
  func test_RLK_GLIB_5_timersInADialogue() throws {
    var (ticks, timeouts) = (0, 0)
    context.onTimeout(milliseconds: 1) {
      timeouts += 1
      return timeouts < 20
    }
    try loop.assumeOnLoop { local in
      let timer = try local.timer(after: .zero, interval: .milliseconds(1), in: .common) { _ in ticks += 1 }
      try local.perform {
        ticks = 0
        self.context.turn { ticks >= 20 && timeouts >= 20 }
        timer.invalidate()
        self.note("over")
      }
    }
    context.turn { log.value == ["over"] }
  }

  /// A dialogue in a callout of a dialogue, and so on.
  func test_RLK_GLIB_5_toAnyDepth() throws {
    let depth = 5
    @Sendable func open(_ level: Int) {
      onOtherThread {
        try? RunLoop.main.perform { if level < depth { open(level + 1) } else { self.note("innermost") } }
      }
      self.context.turn { self.log.value.count == depth + 1 - level }
      note("over")
    }
    try loop.perform { open(1) }
    context.turn { log.value.count == depth + 1 }
    XCTAssertEqual(log.value, ["innermost"] + Array(repeating: "over", count: depth))
  }

  /// The dialogue ends by GLib's own source, while the loop waits for GLib: that wait ends with the callout.
  func test_RLK_GLIB_5_noWaitOutlastsTheCallout() throws {
    try loop.perform { [loop, log] in
      _ = self.iterateForAWhile()
      log.update { $0.append("\(loop.isWaiting)") }
      try? loop.enqueue { log.update { $0.append("\(loop.isWaiting)") } }
    }
    context.turn { log.value.count == 2 }
    XCTAssertEqual(log.value, ["true", "false"])
  }

  @MainActor
  func test_RLK_GLIB_5_aMainLoopInAFunctionOfTheMainQueue() throws {
    let polls = Box(0)
    Task { @MainActor in
      onOtherThread { [log] in
        DispatchQueue.main.async { log.update { $0.append("queue") } }
        Task { @MainActor in log.update { $0.append("actor") } }
      }
      polls.value = iterateForAWhile()
      note("over")
    }
    context.turn { log.value.count == 3 }
    XCTAssertEqual(log.value.first, "over")
    XCTAssertEqual(Set(log.value), ["queue", "actor", "over"])
    XCTAssertLessThanOrEqual(polls.value, 8)
  }

  func test_RLK_GLIB_6_theLoopInACallbackOfGLib() throws {
    context.onIdle { [log, loop] in
      DispatchQueue.main.async { log.update { $0.append("queue") } }
      XCTAssertEqual(try? loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      log.update { $0.append("over") }
      return false
    }
    context.turn { log.value.count == 2 }
    XCTAssertEqual(log.value, ["queue", "over"])
    let served = Box(false)
    onOtherThread { DispatchQueue.main.async { served.value = true } }
    context.turn { served.value }
  }

  /// GLib has not asked for that run, so the source is not out of its sight.
  func test_RLK_GLIB_6_aMainLoopInARunOfACallback() throws {
    let polls = Box(0)
    context.onIdle { [log, loop] in
      do {
        try loop.assumeOnLoop { local in
          try local.perform {
            onOtherThread { try? RunLoop.main.perform { log.update { $0.append("block") } } }
            polls.value = self.iterateForAWhile()
            log.update { $0.append("over") }
          }
          try loop.run(for: .zero)
        }
      } catch {
        XCTFail("\(error)")
      }
      return false
    }
    context.turn { log.value.count == 2 }
    XCTAssertEqual(log.value, ["block", "over"])
    XCTAssertLessThanOrEqual(polls.value, 8)
  }

  // MARK: A run of the loop that sleeps in GLib

  /// GLib's own timeouts go on in a run that a callout makes, which serves its mode alone.
  func test_RLK_GLIB_10_aRunInACalloutServesGLib() throws {
    var (ticks, timeouts) = (0, 0)
    try loop.assumeOnLoop { [loop] local in
      let timer = try local.timer(after: .zero, interval: .milliseconds(1), in: .common) { _ in ticks += 1 }
      try local.perform {
        self.context.onTimeout(milliseconds: 1) {
          timeouts += 1
          if timeouts >= 20, ticks >= 5 { loop.stop() }
          return timeouts < 20 || ticks < 5
        }
        try? loop.perform(in: .default) { self.note("default") }
        ticks = 0
        XCTAssertEqual(try? loop.run(in: .tracking, for: .seconds(30)), .stopped)
        XCTAssertEqual(self.log.value, [])
        timer.invalidate()
      }
    }
    context.turn { log.value == ["default"] }
    XCTAssertGreaterThanOrEqual(timeouts, 20)
  }

  /// Nor does it spin, and it ends at its limit.
  func test_RLK_GLIB_10_aRunWithoutWorkSleepsInGLib() throws {
    let polls = Box(0)
    let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in }
    try loop.add(timer, to: .tracking)
    try loop.perform { [loop, log] in
      let before = Context.polls.value
      XCTAssertEqual(try? loop.run(in: .tracking, for: .milliseconds(20)), .timedOut)
      polls.value = Context.polls.value - before
      log.update { $0.append("over") }
    }
    context.turn { log.value == ["over"] }
    XCTAssertGreaterThan(polls.value, 0)
    XCTAssertLessThanOrEqual(polls.value, 6)
    timer.invalidate()
  }

  /// What other threads ask of it ends the sleep.
  func test_RLK_GLIB_10_noHopIsLostInSuchARun() throws {
    let served = Box(0)
    try loop.perform { [loop, log] in
      let worker = OtherThread {
        for number in 1...500 {
          try? RunLoop.main.perform(in: .tracking) {
            served.update { $0 += 1 }
            if served.value == 500 { RunLoop.main.stop() }
          }
          while number.isMultiple(of: 3), served.value < number { sched_yield() }
        }
      }
      let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in }
      _ = try? loop.add(timer, to: .tracking)
      XCTAssertEqual(try? loop.run(in: .tracking, for: .seconds(30)), .stopped)
      worker.join()
      timer.invalidate()
      log.update { $0.append("over") }
    }
    context.turn { log.value == ["over"] }
    XCTAssertEqual(served.value, 500)
  }

  /// A callback of GLib opens a dialogue in that sleep: there the loop is served in the host's mode.
  func test_RLK_GLIB_11_aDialogueInTheSleepOfARun() throws {
    let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in }
    try loop.add(timer, to: .tracking)
    try loop.assumeOnLoop { [loop, log] local in
      try local.perform {
        self.context.onTimeout(milliseconds: 1) {
          onOtherThread { try? RunLoop.main.perform { log.update { $0.append("default") } } }
          self.context.turn { log.value == ["default"] }
          XCTAssertLessThanOrEqual(self.iterateForAWhile(), 8)
          self.note("dialogue")
          loop.stop()
          return false
        }
        XCTAssertEqual(try? loop.run(in: .tracking, for: .seconds(30)), .stopped)
        XCTAssertEqual(loop.currentMode, .default)
        self.note("over")
      }
    }
    context.turn { log.value.count == 3 }
    XCTAssertEqual(log.value, ["default", "dialogue", "over"])
    timer.invalidate()
  }

  // MARK: What longjmp(3) leaves

  /// The dispatch around it goes on with its own sources. On a thread of its own, whose depth GLib counts wrong from
  /// then on.
  func test_RLK_GLIB_12_aDispatchInACalloutIsLeft() {
    onOtherThread {
      let (context, loop) = (Context(), RunLoop.current)
      var calls = 0
      do {
        let host = try GLibHost(of: loop, context: context.pointer)
        for round in 1...3 {
          try loop.assumeOnLoop { local in
            try local.perform {
              left_dispatch_run(context.pointer)
              calls += 1
            }
          }
          context.turn { calls == round }
        }
        host.detach()
      } catch {
        XCTFail("\(error)")
      }
      XCTAssertEqual(calls, 3)
    }
  }
}
