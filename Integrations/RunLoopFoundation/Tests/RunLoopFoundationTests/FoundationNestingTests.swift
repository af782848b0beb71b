import CoreFoundation
import Dispatch
import Foundation
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

  /// What the loop gets meanwhile waits until the callout has returned, and CFRunLoop sleeps nevertheless.
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
    XCTAssertEqual(log.value, ["queue", "over", "block"])
    XCTAssertLessThanOrEqual(sleeps.value, 6)
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
    XCTAssertEqual(log.value, ["over", "block"])
    XCTAssertLessThanOrEqual(sleeps.value, 6)
  }
}
