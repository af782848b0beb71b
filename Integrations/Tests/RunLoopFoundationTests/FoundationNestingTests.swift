import CoreFoundation
import Dispatch
import Foundation
import HostTestSupport
import RunLoopFoundation
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// CFRunLoop inside the loop, and the loop inside CFRunLoop.
final class FoundationNestingTests: XCTestCase, @unchecked Sendable {
  private let loop = RunLoop.main
  private let log = Log()
  private let sleeps = Box(0)
  private var core: CoreLoop!
  private var host: FoundationHost!

  override func setUpWithError() throws {
    core = CoreLoop()
    host = try FoundationHost(of: loop)
  }

  override func tearDown() {
    XCTAssertTrue(host.isAttached)
    host.detach()
    (host, core) = (nil, nil)
  }

  private func runForAWhile() {
    sleeps.value = core.runForAWhile()
    log.note("over")
  }

  /// What the loop gets meanwhile is served there, and CFRunLoop sleeps when that is done.
  func test_RLK_CF_5_foundationsLoopInACallout() throws {
    try loop.assumeOnLoop { local in
      try local.perform { [log] in
        onOtherThread {
          DispatchQueue.main.async { log.note("queue") }
          try? RunLoop.main.perform { log.note("block") }
        }
        self.runForAWhile()
      }
    }
    core.turn { log.value.count == 3 }
    XCTAssertEqual(Set(log.value), ["queue", "block", "over"])
    XCTAssertEqual(log.value.last, "over")
    XCTAssertLessThanOrEqual(sleeps.value, 8)
  }

  /// A dialogue in a callout of a dialogue, and so on.
  func test_RLK_CF_5_toAnyDepth() throws {
    let depth = 5
    @Sendable func open(_ level: Int) {
      onOtherThread {
        try? RunLoop.main.perform { if level < depth { open(level + 1) } else { self.log.note("innermost") } }
      }
      self.core.turn { self.log.value.count == depth + 1 - level }
      log.note("over")
    }
    try loop.perform { open(1) }
    core.turn { log.value.count == depth + 1 }
    XCTAssertEqual(log.value, ["innermost"] + Array(repeating: "over", count: depth))
  }

  /// CFRunLoop's own run ends while the loop waits for it.
  func test_RLK_CF_5_noWaitOutlastsTheCallout() throws {
    try loop.perform { [loop, log] in
      self.runForAWhile()
      log.note("\(loop.isWaiting)")
      try? loop.enqueue { log.note("\(loop.isWaiting)") }
    }
    core.turn { log.value.count == 3 }
    XCTAssertEqual(log.value, ["over", "true", "false"])
  }

  /// The function is called by CFRunLoop, of which the loop does not know.
  func test_RLK_CF_5_foundationsLoopInAFunctionOfTheMainQueue() throws {
    DispatchQueue.main.async { [log] in
      onOtherThread {
        DispatchQueue.main.async { log.note("queue") }
        Task { @MainActor in log.note("actor") }
      }
      self.runForAWhile()
    }
    core.turn { log.value.count == 3 }
    XCTAssertEqual(log.value, ["over", "queue", "actor"])
    XCTAssertLessThanOrEqual(sleeps.value, 6)
  }

  /// The function is called by the loop, of which CFRunLoop does not know.
  func test_RLK_CF_5_foundationsLoopInAFunctionThatTheLoopCalls() throws {
    let name = "RunLoopFoundationTests.uncommon"  // there CFRunLoop leaves the main queue alone
    let own = try FoundationHost(of: loop, foundationMode: .init(name))
    let uncommon = CoreLoop(mode: coreName(name))
    DispatchQueue.main.async { [log] in
      onOtherThread {
        DispatchQueue.main.async { log.note("queue") }
        Task { @MainActor in log.note("actor") }
      }
      self.runForAWhile()
    }
    uncommon.turn { log.value.count == 3 }
    XCTAssertEqual(log.value, ["over", "queue", "actor"])
    XCTAssertLessThanOrEqual(sleeps.value, 6)
    own.detach()
  }

  /// The loop runs inside a function of the main queue that CFRunLoop calls: neither spins for what waits.
  func test_RLK_CF_5_theLoopInAFunctionOfTheMainQueue() throws {
    loop.collectsStatistics = true
    defer { loop.collectsStatistics = false }
    DispatchQueue.main.async { [log, loop] in
      onOtherThread { DispatchQueue.main.async { log.note("queue") } }
      loop.resetStatistics()
      _ = try? loop.run(for: .milliseconds(10))
      log.note("over")
    }
    core.turn { log.value.count == 2 }
    XCTAssertEqual(log.value, ["over", "queue"])
    XCTAssertLessThanOrEqual(loop.statistics.passes, 4)
  }

  func test_RLK_CF_6_theLoopInACalloutOfFoundation() throws {
    core.onEachPass { [log, loop] in
      onOtherThread { DispatchQueue.main.async { log.note("queue") } }
      XCTAssertEqual(try? loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      log.note("over")
      return false
    }
    core.turn { log.value.count == 2 }
    XCTAssertEqual(log.value, ["queue", "over"])
    let served = Box(false)
    onOtherThread { try? RunLoop.main.perform { served.value = true } }
    core.turn { served.value }
  }

  /// CFRunLoop has not asked for that run.
  func test_RLK_CF_6_foundationsLoopInARunOfItsCallout() throws {
    core.onEachPass { [log, loop] in
      do {
        try loop.assumeOnLoop { local in
          try local.perform {
            onOtherThread { try? RunLoop.main.perform { log.note("block") } }
            self.runForAWhile()
          }
          try loop.run(for: .zero)
        }
      } catch {
        XCTFail("\(error)")
      }
      return false
    }
    core.turn { log.value.count == 2 }
    XCTAssertEqual(log.value, ["block", "over"])
    XCTAssertLessThanOrEqual(sleeps.value, 6)
  }
}
