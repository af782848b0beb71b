import CGLib
import Dispatch
import Glibc
import HostTestSupport
import RunLoopGLib
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// RunLoop.main in a GMainContext. Test cases of XCTest run on the main thread.
final class GLibHostTests: XCTestCase {
  private let loop = RunLoop.main
  private let log = Box<[String]>([])
  private var context: Context!

  override func setUp() { context = Context() }

  override func tearDown() { context = nil }

  private func attach(onStop: (() -> Void)? = nil) throws -> GLibHost {
    try GLibHost(of: loop, context: context.pointer, onStop: onStop)
  }

  private func note(_ text: String) { log.update { $0.append(text) } }

  // MARK: What is served

  func test_RLK_GLIB_1_everythingOfTheLoopIsServed() throws {
    let host = try attach()
    let source = RunLoop.Source { [log] _ in log.update { $0.append("source") } }
    try loop.add(source)
    let causes: [(String, () throws -> Void)] = [
      ("block", { try self.loop.perform { [log = self.log] in log.update { $0.append("block") } } }),
      (
        "timer",
        {
          try self.loop.add(
            RunLoop.Timer(after: .milliseconds(1)) { [log = self.log] _ in log.update { $0.append("timer") } })
        }
      ),
      ("source", { source.signal() }),
    ]
    for (name, cause) in causes {
      try cause()
      context.turn { !log.value.isEmpty }
      XCTAssertEqual(log.value, [name])
      log.value = []
    }
    source.invalidate()
    host.detach()
  }

  func test_RLK_GLIB_1_theMainQueueAndTheMainActorAreServed() throws {
    let host = try attach()
    DispatchQueue.main.async { [log] in log.update { $0.append("queue") } }
    context.turn { log.value == ["queue"] }
    Task { @MainActor [log] in
      log.update { $0.append("actor") }
      await Task.detached { log.update { $0.append("pool") } }.value
      log.update { $0.append("actor again") }
    }
    context.turn { log.value.count == 4 }
    XCTAssertEqual(log.value, ["queue", "actor", "pool", "actor again"])
    host.detach()
  }

  /// While GLib sleeps, and just before: nothing else ends the sleep.
  func test_RLK_GLIB_2_noHopOfAnotherThreadIsLost() throws {
    let host = try attach()
    let count = 2000
    let served = Box(0)
    let worker = OtherThread {
      for number in 1...count {
        if number.isMultiple(of: 2) {
          DispatchQueue.main.async { served.update { $0 += 1 } }
        } else {
          try? RunLoop.main.perform { served.update { $0 += 1 } }
        }
        while number.isMultiple(of: 3), served.value < number { sched_yield() }
      }
    }
    context.turn { served.value == count }
    worker.join()
    host.detach()
  }

  func test_RLK_GLIB_2_aTimerOfAnotherThreadEndsTheSleep() throws {
    let host = try attach()
    let timer = RunLoop.Timer(rearmable: .distantFuture) { [log] _ in log.update { $0.append("timer") } }
    try loop.add(timer)
    context.turn(mayWait: false)
    context.turn(mayWait: false)
    let other = OtherThread {
      while !RunLoop.main.isWaiting { sched_yield() }
      timer.rearm(after: .milliseconds(1))
    }
    context.turn { log.value == ["timer"] }
    other.join()
    timer.invalidate()
    host.detach()
  }

  // MARK: Quiet

  func test_RLK_GLIB_3_idleWithoutAPass() throws {
    let host = try attach()
    loop.collectsStatistics = true
    defer { loop.collectsStatistics = false }
    DispatchQueue.main.async { [log] in log.update { $0.append("queue") } }
    context.turn { log.value == ["queue"] }
    var isOver = false
    context.onTimeout(milliseconds: 30) {
      isOver = true
      return false
    }
    for _ in 0..<3 { context.turn(mayWait: false) }
    loop.resetStatistics()
    Context.polls.value = 0
    context.turn { isOver }
    XCTAssertLessThanOrEqual(Context.polls.value, 2)
    XCTAssertEqual(loop.statistics.passes, 0)
    host.detach()
  }

  /// A source of a higher priority is always ready, so GLib does not dispatch the loop: what is asked of it waits, and
  /// costs no more.
  func test_RLK_GLIB_3_workWaitsWhileGLibDoesNotDispatch() throws {
    let host = try attach()
    var turns = 0
    context.turn(mayWait: false)
    context.onIdle(priority: G_PRIORITY_HIGH) {
      turns += 1
      return turns < 100
    }
    onOtherThread { [log] in
      for _ in 0..<1000 { try? RunLoop.main.perform { log.update { $0.append("block") } } }
    }
    context.turn { turns == 100 }
    XCTAssertEqual(log.value, [])
    context.turn { log.value.count == 1000 }
    host.detach()
  }

  // MARK: Neither side starves the other

  func test_RLK_GLIB_4_endlessWorkOfTheLoopLetsGLibRun() throws {
    let host = try attach()
    let hops = Box(0)
    @Sendable func hop() {
      hops.update { $0 += 1 }
      if hops.value < 100_000 { DispatchQueue.main.async { hop() } }
    }
    DispatchQueue.main.async { hop() }
    var own = 0
    context.onIdle {
      own += 1
      return own < 20
    }
    context.turn { own == 20 }
    XCTAssertLessThanOrEqual(hops.value, 41)
    hops.value = 100_000
    context.turn(mayWait: false)
    context.turn(mayWait: false)
    host.detach()
  }

  func test_RLK_GLIB_4_endlessWorkOfGLibLetsTheLoopRun() throws {
    let host = try attach()
    let hops = Box(0)
    @Sendable func hop() {
      hops.update { $0 += 1 }
      if hops.value < 20 { DispatchQueue.main.async { hop() } }
    }
    DispatchQueue.main.async { hop() }
    var own = 0
    context.onIdle {
      own += 1
      return hops.value < 20
    }
    context.turn { hops.value == 20 }
    XCTAssertLessThanOrEqual(own, 60)
    context.turn(mayWait: false)
    host.detach()
  }

  // MARK: The end

  func test_RLK_GLIB_7_detachedInACalloutAndAttachedAgain() throws {
    var host = try attach()
    try loop.assumeOnLoop { local in
      try local.perform {
        host.detach()
        self.note("detached")
      }
    }
    context.turn { log.value == ["detached"] }
    XCTAssertFalse(host.isAttached)
    try loop.perform { [log] in log.update { $0.append("block") } }
    for _ in 0..<5 { context.turn(mayWait: false) }
    XCTAssertEqual(log.value, ["detached"])
    host.detach()
    host = try attach()
    context.turn { log.value.count == 2 }
    host.detach()
  }

  /// The context holds the host, and nothing holds it after the context.
  func test_RLK_GLIB_7_theContextHoldsTheHost() throws {
    final class Witness {}
    weak var witness: Witness?
    try {
      let own = Witness()
      witness = own
      _ = try attach { withExtendedLifetime(own) {} }
    }()
    XCTAssertNotNil(witness)
    DispatchQueue.main.async { [log] in log.update { $0.append("queue") } }
    context.turn { log.value == ["queue"] }
    context = nil
    XCTAssertNil(witness)
  }

  private func assertNobodyWaits(line: UInt = #line) {
    XCTAssertFalse(loop.isWaiting, line: line)
    XCTAssertNil(loop.currentMode, line: line)
    loop.stop()
    XCTAssertEqual(try loop.runPendingWork(), .timedOut, line: line)
  }

  /// It has prepared the loop for a sleep that it does not end.
  func test_RLK_GLIB_7_noWaitIsLeftBehind() throws {
    try loop.perform {}
    var host = try attach()
    context.turn(mayWait: false)
    context.prepare()
    XCTAssertTrue(loop.isWaiting)
    host.detach()
    assertNobodyWaits()
    host.detach()

    host = try attach()
    context.prepare()
    XCTAssertTrue(loop.isWaiting)
    context = nil
    assertNobodyWaits()

    context = Context()
    host = try attach()
    try loop.assumeOnLoop { local in
      try local.observer(.beforeWaiting, repeats: false) { _, _ in host.detach() }
    }
    context.prepare()
    XCTAssertFalse(host.isAttached)
    assertNobodyWaits()
  }

  /// An older host that is detached once more leaves the wait of the newer one alone.
  func test_RLK_GLIB_7_aHostCancelsItsOwnWaitOnly() throws {
    let older = try attach()
    context.prepare()
    older.detach()
    let host = try attach()
    context.prepare()
    older.detach()
    XCTAssertTrue(loop.isWaiting)
    host.detach()
  }

  func test_RLK_GLIB_7_aDetachedHostKeepsNothing() throws {
    final class Witness {}
    weak var witness: Witness?
    let host = try {
      let own = Witness()
      witness = own
      return try attach { withExtendedLifetime(own) {} }
    }()
    XCTAssertNotNil(witness)
    host.detach()
    XCTAssertNil(witness)
  }

  /// The context of a thread that is not the loop's: GLib is told, and goes on.
  func test_RLK_GLIB_8_aWrongThreadEndsIt() throws {
    let host = try attach()
    let pointer = UInt(bitPattern: context.pointer)
    g_log_set_handler("RunLoopGLib", G_LOG_LEVEL_WARNING, { _, _, _, _ in }, nil)
    onOtherThread {
      for _ in 0..<2 { g_main_context_iteration(OpaquePointer(bitPattern: pointer), 0) }
    }
    XCTAssertEqual(host.failure as? RunLoopError, .wrongThread)
    XCTAssertFalse(host.isAttached)
  }

  func test_RLK_GLIB_9_aStopIsTold() throws {
    let mainLoop = g_main_loop_new(context.pointer, 0)
    let host = try attach { g_main_loop_quit(mainLoop) }
    let other = OtherThread {
      while !RunLoop.main.isWaiting { sched_yield() }
      RunLoop.main.stop()
    }
    g_main_loop_run(mainLoop)
    other.join()
    host.detach()
    g_main_loop_unref(mainLoop)
  }

  func test_RLK_GLIB_9_aStopByACalloutIsTold() throws {
    let mainLoop = g_main_loop_new(context.pointer, 0)
    let host = try attach { g_main_loop_quit(mainLoop) }
    try loop.perform { [loop] in loop.stop() }
    g_main_loop_run(mainLoop)
    host.detach()
    g_main_loop_unref(mainLoop)
  }

  func test_RLK_GLIB_9_noStopAfterTheHost() throws {
    let host = try attach { [log] in log.update { $0.append("stop") } }
    try loop.assumeOnLoop { [loop, log] local in
      try local.perform {
        loop.stop()
        host.detach()
        log.update { $0.append("detached") }
      }
    }
    context.turn { log.value.first == "detached" }
    XCTAssertEqual(log.value, ["detached"])
  }
}
