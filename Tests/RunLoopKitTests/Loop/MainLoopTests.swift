import Dispatch
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What only the main loop has. Test cases of XCTest run on the main thread; what it is linked with, `scripts/main-loop` varies.
final class MainLoopTests: XCTestCase {
  private let loop = RunLoop.main

  override func tearDown() { loop.servesMainQueue = true }

  func test_RLK_MAIN_1_aCommonModeIsNeverFinishedUnlessTheQueueIsSwitchedOff() throws {
    XCTAssertTrue(loop.servesMainQueue)
    XCTAssertFalse(loop.isEmpty(in: .default))
    XCTAssertEqual(try loop.run(in: .default, for: .milliseconds(1)), .timedOut)
    loop.servesMainQueue = false
    XCTAssertFalse(loop.servesMainQueue)
    XCTAssertTrue(loop.isEmpty(in: .default))
    XCTAssertEqual(try loop.run(in: .default), .finished)
    let timer = RunLoop.Timer(fireDate: .now) { _ in }
    try loop.add(timer)
    XCTAssertEqual(try loop.run(in: .default), .finished)
    XCTAssertFalse(timer.isValid)
  }

  func test_RLK_MAIN_2_switchedOffTheQueueWaitsAndNothingOfItIsLost() throws {
    let calls = Box(0)
    loop.servesMainQueue = false
    DispatchQueue.main.async { calls.value += 1 }
    try loop.add(RunLoop.Timer(fireDate: .now) { _ in })
    XCTAssertEqual(try loop.run(in: .default), .finished)
    XCTAssertEqual(calls.value, 0)
    loop.servesMainQueue = true
    XCTAssertEqual(try loop.run(in: .default, for: .seconds(60), returnAfterSourceHandled: true), .handledSource)
    XCTAssertEqual(calls.value, 1)
  }

  func test_RLK_MAIN_3_aNameThatIsCommonIsAModeToRunIn() throws {
    let (name, calls): (RunLoop.Mode, Box<Int>) = ("common, and nothing in it", Box(0))
    XCTAssertTrue(loop.isEmpty(in: name))
    XCTAssertEqual(try loop.run(in: name), .finished)
    loop.addCommonMode(name)
    XCTAssertFalse(loop.modes.contains(name))
    XCTAssertFalse(loop.isEmpty(in: name))
    loop.servesMainQueue = false
    XCTAssertEqual(try loop.run(in: name), .finished)
    loop.servesMainQueue = true
    DispatchQueue.main.async { calls.value += 1 }
    XCTAssertEqual(try loop.run(in: name, for: .seconds(60), returnAfterSourceHandled: true), .handledSource)
    XCTAssertEqual(calls.value, 1)
    XCTAssertTrue(loop.modes.contains(name))
  }

  func test_RLK_MAIN_4_trackingIsCommonFromTheStart() throws {
    XCTAssertTrue(loop.isCommonMode(.tracking))
    let ticks = Box(0)
    let timer = RunLoop.Timer(fireDate: .now, interval: .milliseconds(1)) { [loop] _ in
      ticks.value += 1
      if ticks.value == 3 { loop.stop() }
    }
    try loop.add(timer, to: .common)
    defer { timer.invalidate() }
    XCTAssertEqual(try loop.run(in: .tracking), .stopped)
    XCTAssertEqual(ticks.value, 3)
    onThread { XCTAssertFalse(RunLoop.current.isCommonMode(.tracking)) }
  }

  func test_RLK_MAIN_5_insideAFunctionOfTheQueueItKeepsNothing() throws {
    let inside = Box<RunLoop.RunResult?>(nil)
    DispatchQueue.main.async { [loop] in
      MainActor.assumeIsolated { inside.value = try? loop.run(in: .tracking) }
    }
    XCTAssertEqual(try loop.run(in: .default, for: .seconds(60), returnAfterSourceHandled: true), .handledSource)
    XCTAssertEqual(inside.value, .finished)
  }

  func test_RLK_MAIN_6_anotherLoopHasNoQueue() {
    onThread {
      let loop = RunLoop.current
      XCTAssertFalse(loop.servesMainQueue)
      loop.servesMainQueue = true
      XCTAssertFalse(loop.servesMainQueue)
      loop.addCommonMode("m")
      XCTAssertTrue(loop.isEmpty(in: "m"))
      XCTAssertEqual(try loop.run(in: "m"), .finished)
      XCTAssertTrue(loop.description.contains("kept by: nothing, it is finished"), loop.description)
    }
  }

  func test_RLK_TEXT_5_theDescriptionSaysWhatKeepsAMode() throws {
    XCTAssertTrue(loop.description.contains("the main queue\n"), loop.description)
    onThread {
      let (loop, mode, counter) = (RunLoop.current, "kept" as RunLoop.Mode, EventCounter())
      func line() -> String? {
        loop.description.split(separator: "mode kept").last?.split(separator: "\n").first { $0.contains("kept by:") }
          .map { String($0.drop { $0 == " " }) }
      }
      let source = RunLoop.Source { _ in }
      try loop.add(source, to: mode)
      XCTAssertEqual(line(), "kept by: 1 signalled source")
      try loop.add(RunLoop.Observer(.all) { _, _ in }, to: mode)
      try loop.add(RunLoop.Timer.never(), to: mode)
      try loop.add(RunLoop.Timer.never(), to: mode)
      let watched = try PortSourceFactory.make(counter) {}
      try loop.add(watched, to: mode)
      try loop.add(RunLoop.Port { _, _ in }, to: mode)
      try loop.enqueue(in: mode) {}
      XCTAssertEqual(line(), "kept by: 1 signalled source, 1 watched source, 1 port, 2 timers, 1 block")
    }
  }
}
