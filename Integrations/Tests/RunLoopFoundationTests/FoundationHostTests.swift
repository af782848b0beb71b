import CoreFoundation
import Dispatch
import Foundation
import HostTestSupport
import RunLoopFoundation
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// RunLoop.main in the main thread's CFRunLoop. Test cases of XCTest run on the main thread.
final class FoundationHostTests: XCTestCase {
  private let loop = RunLoop.main
  private let log = Log()
  private var core: CoreLoop!

  override func setUp() { core = CoreLoop() }

  override func tearDown() { core = nil }

  private func attach(onStop: (() -> Void)? = nil) throws -> FoundationHost {
    try FoundationHost(of: loop, onStop: onStop)
  }

  // MARK: What is served

  func test_RLK_CF_1_everythingOfTheLoopIsServed() throws {
    let host = try attach()
    let source = RunLoop.Source { [log] _ in log.note("source") }
    try loop.add(source)
    let pipe = Pipe()
    let reading = pipe.fileHandleForReading.fileDescriptor
    let descriptor = try RunLoop.FileDescriptorSource(fileDescriptor: reading, interest: .readable) {
      [log] source, _ in
      log.note("descriptor")
      source.invalidate()
    }
    try loop.add(descriptor)
    let causes: [(String, () throws -> Void)] = [
      ("block", { [log, loop] in try loop.perform { log.note("block") } }),
      ("timer", { [log, loop] in try loop.add(RunLoop.Timer(after: .milliseconds(1)) { _ in log.note("timer") }) }),
      ("source", { source.signal() }),
      ("descriptor", { pipe.fileHandleForWriting.write(Data([1])) }),
    ]
    for (name, cause) in causes {
      try cause()
      core.turn { !log.value.isEmpty }
      XCTAssertEqual(log.value, [name])
      log.clear()
    }
    source.invalidate()
    host.detach()
  }

  func test_RLK_CF_1_theMainQueueAndTheMainActorAreServed() throws {
    let host = try attach()
    DispatchQueue.main.async { [log] in log.note("queue") }
    core.turn { log.value == ["queue"] }
    Task { @MainActor [log] in
      log.note("actor")
      await Task.detached { log.note("pool") }.value
      log.note("actor again")
    }
    core.turn { log.value.count == 4 }
    XCTAssertEqual(log.value, ["queue", "actor", "pool", "actor again"])
    host.detach()
  }

  /// A signal wakes nothing, and the loop is prepared after all observers.
  func test_RLK_CF_1_whatAnObserverSignalsBeforeTheSleep() throws {
    let host = try attach()
    let source = RunLoop.Source { [log] _ in log.note("source") }
    try loop.add(source)
    let activity = CFRunLoopActivity.beforeWaiting.rawValue
    let observer = CFRunLoopObserverCreateWithHandler(nil, activity, false, 1000) { _, _ in source.signal() }
    CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, core.mode)
    core.turn { log.value == ["source"] }
    source.invalidate()
    host.detach()
  }

  /// By the calls that a program of Foundation makes.
  func test_RLK_CF_1_foundationsOwnRunServesBoth() throws {
    let host = try attach()
    let isOver = Box(false)
    try loop.perform { [log] in log.note("block") }
    _ = Foundation.Timer.scheduledTimer(withTimeInterval: 0.001, repeats: false) { [log] _ in
      log.note("timer of Foundation")
      try? RunLoop.main.perform { isOver.value = true }
    }
    while !isOver.value { _ = Foundation.RunLoop.main.run(mode: .default, before: .distantFuture) }
    XCTAssertEqual(log.value, ["block", "timer of Foundation"])
    host.detach()
  }

  /// While CFRunLoop sleeps, and just before: nothing else ends the sleep.
  func test_RLK_CF_2_noHopOfAnotherThreadIsLost() throws {
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
    core.turn { served.value == count }
    worker.join()
    host.detach()
  }

  func test_RLK_CF_2_aTimerOfAnotherThreadEndsTheSleep() throws {
    let host = try attach()
    let timer = RunLoop.Timer(rearmable: .distantFuture) { [log] _ in log.note("timer") }
    try loop.add(timer)
    core.turn(mayWait: false)
    core.turn(mayWait: false)
    let other = OtherThread {
      while !RunLoop.main.isWaiting { sched_yield() }
      timer.rearm(after: .milliseconds(1))
    }
    core.turn { log.value == ["timer"] }
    other.join()
    timer.invalidate()
    host.detach()
  }

  // MARK: Quiet

  func test_RLK_CF_3_idleWithoutAPass() throws {
    let host = try attach()
    loop.collectsStatistics = true
    defer { loop.collectsStatistics = false }
    DispatchQueue.main.async { [log] in log.note("queue") }
    core.turn { log.value == ["queue"] }
    for _ in 0..<3 { core.turn(mayWait: false) }
    loop.resetStatistics()
    XCTAssertLessThanOrEqual(core.runForAWhile(), 2)
    XCTAssertEqual(loop.statistics.passes, 0)
    host.detach()
  }

  /// In the meantime CFRunLoop runs in a mode that does not serve the loop: what is asked of it waits, and costs no more.
  func test_RLK_CF_3_workWaitsWhileCFRunLoopDoesNotServe() throws {
    let host = try attach()
    core.turn(mayWait: false)
    core.onTimeout(milliseconds: 1) {}
    core.turn()
    let other = CoreLoop(mode: coreName("RunLoopFoundationTests.other"))
    onOtherThread { [log] in
      for _ in 0..<1000 { try? RunLoop.main.perform { log.note("block") } }
    }
    XCTAssertLessThanOrEqual(other.runForAWhile(), 2)
    XCTAssertEqual(log.value, [])
    core.turn { log.value.count == 1000 }
    host.detach()
  }

  // MARK: Neither side starves the other

  func test_RLK_CF_4_endlessWorkOfTheLoopLetsFoundationRun() throws {
    let host = try attach()
    let hops = Box(0)
    @Sendable func hop() {
      hops.update { $0 += 1 }
      if hops.value < 100_000 { try? RunLoop.main.perform { hop() } }
    }
    try loop.perform { hop() }
    var own = 0
    core.onEachPass {
      own += 1
      return own < 20
    }
    core.turn { own == 20 }
    XCTAssertLessThanOrEqual(hops.value, 41)
    hops.value = 100_000
    for _ in 0..<4 { core.turn(mayWait: false) }
    host.detach()
  }

  /// CFRunLoop never gets as far as to sleep, and ends its pass at its own source, which comes first.
  func test_RLK_CF_4_endlessWorkOfFoundationLetsTheLoopRun() throws {
    let host = try attach()
    let hops = Box(0)
    @Sendable func hop() {
      hops.update { $0 += 1 }
      if hops.value < 20 { try? RunLoop.main.perform { hop() } }
    }
    try loop.perform { hop() }
    var own = 0
    core.onEachPass(order: .min) {
      own += 1
      return hops.value < 20
    }
    core.turn { hops.value == 20 || own > 100 }
    XCTAssertLessThanOrEqual(own, 60)
    core.turn { hops.value == 20 }
    core.turn(mayWait: false)
    host.detach()
  }

  /// Nor does one that only polls: it never asks before-waiting observers.
  func test_RLK_CF_4_polledOnly() throws {
    let host = try attach()
    for round in 1...5 {
      onOtherThread { [log] in try? RunLoop.main.perform { log.note("block") } }
      for _ in 0..<3 { core.turn(mayWait: false) }
      XCTAssertEqual(log.value.count, round)
    }
    host.detach()
  }

  // MARK: Modes

  func test_RLK_CF_10_modesThatBecomeCommonServeToo() throws {
    let host = try attach()
    let name = coreName("RunLoopFoundationTests.common")
    CFRunLoopAddCommonMode(CFRunLoopGetCurrent(), name)
    let other = CoreLoop(mode: name)
    try loop.perform { [log] in log.note("block") }
    other.turn { log.value == ["block"] }
    host.detach()
  }

  func test_RLK_CF_10_oneModeOfEach() throws {
    let host = try FoundationHost(of: loop, in: .tracking, foundationMode: .init("RunLoopFoundationTests.own"))
    try loop.perform(in: .tracking) { [log] in log.note("tracking") }
    try loop.perform(in: .default) { [log] in log.note("default") }
    let own = CoreLoop(mode: coreName("RunLoopFoundationTests.own"))
    _ = core.runForAWhile()
    XCTAssertEqual(log.value, [])
    own.turn { !log.value.isEmpty }
    XCTAssertEqual(log.value, ["tracking"])
    host.detach()
    try loop.run(for: .zero)
    XCTAssertEqual(log.value, ["tracking", "default"])
  }

  /// The loop's epoll instance is another one: CFRunLoop's has lost it.
  func test_RLK_CF_11_afterARebuild() throws {
    let host = try attach()
    let before = try loop.hostDescriptor()
    let pipe = Pipe()
    let reading = dup(pipe.fileHandleForReading.fileDescriptor)
    let source = try RunLoop.FileDescriptorSource(fileDescriptor: reading, interest: .readable) { _, _ in }
    try loop.add(source)
    core.turn(mayWait: false)
    close(reading)  // before its source is gone, and a duplicate stays
    source.invalidate()
    pipe.fileHandleForWriting.write(Data([1]))
    while try loop.hostDescriptor() == before { core.turn(mayWait: false) }
    let served = Box(0)
    let worker = OtherThread {
      for number in 1...100 {
        try? RunLoop.main.perform { served.value = number }
        while served.value < number { sched_yield() }
      }
    }
    core.turn { served.value == 100 }
    worker.join()
    host.detach()
  }
}
