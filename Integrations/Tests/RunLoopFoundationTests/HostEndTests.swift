import CoreFoundation
import Dispatch
import Foundation
import HostTestSupport
import RunLoopFoundation
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// How a host ends, and what it is told.
final class HostEndTests: XCTestCase {
  private let loop = RunLoop.main
  private let log = Log()
  private var core: CoreLoop!

  override func setUp() { core = CoreLoop() }

  override func tearDown() { core = nil }

  func test_RLK_CF_7_detachedInACalloutAndAttachedAgain() throws {
    var host = try FoundationHost(of: loop)
    try loop.assumeOnLoop { local in
      try local.perform { [log] in
        host.detach()
        log.note("detached")
      }
    }
    core.turn { log.value == ["detached"] }
    XCTAssertFalse(host.isAttached)
    try loop.perform { [log] in log.note("block") }
    for _ in 0..<5 { core.turn(mayWait: false) }
    XCTAssertEqual(log.value, ["detached"])
    host.detach()
    host = try FoundationHost(of: loop)
    core.turn { log.value.count == 2 }
    host.detach()
  }

  /// Foundation's loop has ended its run, and the host leaves: it has prepared the loop for a sleep.
  func test_RLK_CF_7_noWaitIsLeftBehind() throws {
    let host = try FoundationHost(of: loop)
    _ = core.runForAWhile()
    XCTAssertTrue(loop.isWaiting)
    host.detach()
    XCTAssertFalse(loop.isWaiting)
    XCTAssertNil(loop.currentMode)
    loop.stop()
    XCTAssertEqual(try loop.runPendingWork(), .timedOut)
  }

  /// The next host is there for the sleep that follows.
  func test_RLK_CF_7_anObserverChangesTheHost() throws {
    var host = try FoundationHost(of: loop)
    let failure = Box<(any Error)?>(nil)
    try loop.assumeOnLoop { [loop] local in
      try local.observer(.beforeWaiting, repeats: false) { _, _ in
        host.detach()
        do { host = try FoundationHost(of: loop) } catch { failure.value = error }
      }
    }
    let other = OtherThread { [log] in
      while !CFRunLoopIsWaiting(CFRunLoopGetMain()) { sched_yield() }
      try? RunLoop.main.perform { log.note("block") }
    }
    core.turn { log.value == ["block"] }
    other.join()
    if let error = failure.value { throw error }
    host.detach()
  }

  /// A host that has not prepared the loop takes no stop away from the one that has.
  func test_RLK_CF_7_aHostEndsItsOwnWaitOnly() throws {
    let idle = try FoundationHost(of: loop, foundationMode: Foundation.RunLoop.Mode("idle"))
    let host = try FoundationHost(of: loop)
    _ = core.runForAWhile()
    XCTAssertTrue(loop.isWaiting)
    idle.detach()
    XCTAssertTrue(loop.isWaiting)
    host.detach()
    XCTAssertFalse(loop.isWaiting)
  }

  private final class Witness {}

  /// CFRunLoop holds the host until it is detached.
  func test_RLK_CF_7_foundationsLoopHoldsTheHost() throws {
    weak var witness: Witness?
    weak var host: FoundationHost?
    try {
      let own = Witness()
      witness = own
      let attached = try FoundationHost(of: loop) { withExtendedLifetime(own) {} }
      host = attached
    }()
    XCTAssertNotNil(witness)
    try loop.perform { [log] in log.note("block") }
    core.turn { log.value == ["block"] }
    host?.detach()
    XCTAssertNil(witness)
    XCTAssertNil(host)
  }

  /// Neither is there after the thread: its CFRunLoop lets go of the host.
  func test_RLK_CF_7_aThreadThatEndsWithAHost() throws {
    weak var witness: Witness?
    let served = Box(false)
    let kept = Box<FoundationHost?>(nil)
    try {
      let own = Witness()
      witness = own
      let start = Box<Witness?>(own)
      let failure = Box<(any Error)?>(nil)
      onOtherThread {
        let core = CoreLoop()
        do {
          let own = start.value
          try FoundationHost(of: .current) { withExtendedLifetime(own) {} }
          kept.value = try FoundationHost(of: .current)
          start.value = nil
          try RunLoop.current.perform { served.value = true }
        } catch {
          failure.value = error
        }
        core.turn { served.value }
      }
      if let error = failure.value { throw error }
    }()
    XCTAssertNil(witness)
    XCTAssertEqual(kept.value?.isAttached, false)
    kept.value?.detach()
  }

  /// Somebody holds that thread's loop of Foundation, and so what is left in it.
  func test_RLK_CF_7_aThreadThatEndsBeforeItsFoundationLoop() throws {
    let failure = Box<(any Error)?>(nil)
    let (host, foundationLoop) = (Box<FoundationHost?>(nil), Box<Foundation.RunLoop?>(nil))
    onOtherThread {
      foundationLoop.value = .current
      do { host.value = try FoundationHost(of: .current, foundationMode: .default) } catch { failure.value = error }
    }
    if let error = failure.value { throw error }
    XCTAssertEqual(host.value?.isAttached, false)
    host.value?.detach()
    foundationLoop.value = nil
  }

  func test_RLK_CF_8_aLoopOfAnotherThreadIsRefused() {
    let error = Box<RunLoopError?>(nil)
    onOtherThread {
      do { try FoundationHost(of: RunLoop.main) } catch let thrown { error.value = thrown as? RunLoopError }
    }
    XCTAssertEqual(error.value, .wrongThread)
    XCTAssertThrowsError(try FoundationHost(of: loop, in: .common)) {
      XCTAssertEqual($0 as? RunLoopError, .commonModeNotRunnable)
    }
  }

  /// What CFRunLoop sleeps on is the parent's, too: a child that took the loop out would take it from its parent.
  func test_RLK_CF_8_aChildDetachesAndTheParentGoesOn() throws {
    let host = try FoundationHost(of: loop)
    core.turn(mayWait: false)
    let child = forkProcess()
    if child == 0 {
      alarm(20)
      host.detach()
      _exit(host.isAttached ? 1 : 7)
    }
    var status: Int32 = 0
    XCTAssertEqual(waitpid(child, &status, 0), child)
    XCTAssertEqual(status, 7 << 8)
    let other = OtherThread { [log] in
      while !RunLoop.main.isWaiting { sched_yield() }
      try? RunLoop.main.perform { log.note("block") }
    }
    core.turn { log.value == ["block"] }
    other.join()
    host.detach()
  }

  func test_RLK_CF_8_aChildThatGoesOnLosesTheHost() throws {
    let host = try FoundationHost(of: loop)
    core.turn(mayWait: false)
    let child = forkProcess()
    if child == 0 {
      alarm(20)
      dup2(open("/dev/null", O_WRONLY), 2)  // what is told there
      for _ in 0..<3 { core.turn(mayWait: false) }
      _exit(host.failure as? RunLoopError == .forked && !host.isAttached ? 7 : 1)
    }
    var status: Int32 = 0
    XCTAssertEqual(waitpid(child, &status, 0), child)
    XCTAssertEqual(status, 7 << 8)
    host.detach()
  }

  func test_RLK_CF_9_aStopIsTold() throws {
    let host = try FoundationHost(of: loop) { CFRunLoopStop(CFRunLoopGetCurrent()) }
    let other = OtherThread {
      while !RunLoop.main.isWaiting { sched_yield() }
      RunLoop.main.stop()
    }
    CFRunLoopRun()
    other.join()
    host.detach()
  }

  func test_RLK_CF_9_aStopByACalloutIsTold() throws {
    let host = try FoundationHost(of: loop) { CFRunLoopStop(CFRunLoopGetCurrent()) }
    try loop.perform { [loop] in loop.stop() }
    CFRunLoopRun()
    host.detach()
  }

  func test_RLK_CF_9_noStopAfterTheHost() throws {
    let host = try FoundationHost(of: loop) { [log] in log.note("stop") }
    try loop.assumeOnLoop { [loop, log] local in
      try local.perform {
        loop.stop()
        host.detach()
        log.note("detached")
      }
    }
    core.turn { log.value.first == "detached" }
    XCTAssertEqual(log.value, ["detached"])
  }
}
