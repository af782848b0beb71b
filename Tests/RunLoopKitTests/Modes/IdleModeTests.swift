import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// The descriptors of modes that need none now.
final class IdleModeTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }
  override func tearDown() { CountingKernel.script = CountingKernel.Script() }

  /// Four idle modes keep theirs: a port set and a timerfd each. The wakeup port is the loop's.
  private static let most = 1 + 4 * 2
  /// Of other code in the process, such as libdispatch.
  private static let others = 4

  /// How many descriptors the loop's modes have, by what it says.
  private static func descriptors(of loop: RunLoop) -> Int {
    loop.description.components(separatedBy: "port set: descriptor").count - 1
      + loop.description.components(separatedBy: "timer port: descriptor").count - 1
  }

  private static func mode(_ number: Int) -> RunLoop.Mode { RunLoop.Mode(rawValue: "request \(number)") }

  func test_RLK_MODE_1_emptyModesGiveTheirDescriptorsBack() {
    onThread {
      let (loop, fired, before) = (RunLoop.current, Box(0), openDescriptors())
      for number in 0..<300 {
        try loop.add(RunLoop.Timer(fireDate: .now) { _ in fired.value += 1 }, to: Self.mode(number))
        XCTAssertEqual(try loop.run(in: Self.mode(number), for: .seconds(30)), .finished)
        XCTAssertLessThanOrEqual(Self.descriptors(of: loop), Self.most - 1)
      }
      XCTAssertEqual(fired.value, 300)
      XCTAssertLessThanOrEqual(openDescriptors() - before, Self.most + Self.others)
      XCTAssertTrue(loop.description.contains("port set: none yet, timer port: none"))
    }
  }

  /// When the last member leaves, whoever removes it, and while the loop runs in another mode.
  func test_RLK_MODE_1_theLastMemberThatLeavesLetsThemGo() {
    onThread {
      let (loop, before) = (RunLoop.current, openDescriptors())
      let counters = (0..<50).map { _ in EventCounter() }
      var items: [(RunLoop.Item, RunLoop.Mode)] = []
      for (number, counter) in counters.enumerated() {
        items.append((try PortSourceFactory.make(counter) {}, Self.mode(number)))
        items.append((RunLoop.Timer(fireDate: .now.advanced(by: .seconds(3600))) { _ in }, Self.mode(number)))
        if number % 2 == 0 { items.append((RunLoop.Port { _, _ in }, Self.mode(number))) }
      }
      for (item, mode) in items { try loop.add(item, to: mode) }
      XCTAssertEqual(Self.descriptors(of: loop), 50 * 2)
      let all = items
      let remover = Box<TestThread?>(nil)
      try loop.perform {
        remover.value = TestThread {
          for (index, (item, mode)) in all.enumerated() {
            if index % 2 == 0 { item.invalidate() } else { loop.remove(item, from: mode) }
          }
          loop.stop()
        }
      }
      XCTAssertEqual(try loop.runUntilStopped(), .stopped)
      remover.value?.join()
      XCTAssertLessThanOrEqual(Self.descriptors(of: loop), Self.most - 1)
      XCTAssertLessThanOrEqual(openDescriptors() - before - 50, Self.most + Self.others)
      withExtendedLifetime(counters) {}
    }
  }

  /// A program that uses one again and again does not pay for it.
  func test_RLK_MODE_2_aModeThatIsUsedAgainAndAgainKeepsThem() {
    onThread {
      let (loop, fired) = (RunLoop.current, Box(0))
      func request(_ mode: RunLoop.Mode) throws {
        try loop.add(RunLoop.Timer(fireDate: .now) { _ in fired.value += 1 }, to: mode)
        XCTAssertEqual(try loop.run(in: mode, for: .seconds(30)), .finished)
      }
      for number in 0..<4 { try request(Self.mode(number)) }
      let creations = Box(0)
      CountingKernel.script.control = {
        creations.value += 1
        return nil
      }
      for number in 0..<400 { try request(Self.mode(number % 4)) }
      XCTAssertEqual(creations.value, 0)
      XCTAssertEqual(fired.value, 404)
    }
  }

  /// A mode with a member, on the stack, or of a host keeps them, however many others are used meanwhile.
  func test_RLK_MODE_3_aModeInUseKeepsThem() {
    onThread {
      let (loop, called, counter) = (RunLoop.current, Box(0), EventCounter())
      for mode in ["hosted", "outer"] as [RunLoop.Mode] {  // idle before
        try loop.add(RunLoop.Timer(fireDate: .now) { _ in }, to: mode)
        XCTAssertEqual(try loop.run(in: mode, for: .seconds(30)), .finished)
      }
      let host = try loop.hostDescriptor(in: "hosted").fileDescriptor
      try loop.add(
        PortSourceFactory.make(counter) {
          called.value += 1
          loop.stop()
        }, to: "member")
      let source = RunLoop.Source { _ in
        for number in 0..<20 {
          _ = try? loop.add(RunLoop.Timer(fireDate: .now) { _ in called.value += 1 }, to: Self.mode(number))
          XCTAssertEqual(try? loop.run(in: Self.mode(number), for: .seconds(30)), .finished)
        }
        XCTAssertTrue(loop.description.contains("mode hosted {\n    port set: descriptor \(host)"), loop.description)
        XCTAssertTrue(loop.description.contains("mode outer {\n    port set: descriptor"), loop.description)
        loop.stop()
      }
      try loop.add(source, to: "outer")
      source.signal()
      XCTAssertEqual(try loop.run(in: "outer", for: .seconds(30)), .stopped)
      XCTAssertEqual(called.value, 20)
      XCTAssertEqual(try loop.hostDescriptor(in: "hosted").fileDescriptor, host)
      XCTAssertTrue(loop.description.contains("mode hosted {\n    port set: descriptor \(host)"), loop.description)
      counter.add()
      XCTAssertEqual(try loop.run(in: "member", for: .seconds(30)), .stopped)
      XCTAssertEqual(called.value, 21)
      XCTAssertEqual(Set(["hosted", "member", "outer"]).subtracting(loop.modes.map(\.rawValue)), [])
    }
  }

  /// Making them again may fail: the error names the call, nothing is half added, and it works later.
  func test_RLK_MODE_4_makingThemAgainMayFail() {
    onThread {
      let (loop, called) = (RunLoop.current, Box(0))
      func request(_ mode: RunLoop.Mode) throws {
        let counter = EventCounter()
        counter.add()
        let source = try PortSourceFactory.make(counter) { called.value += 1 }
        try loop.add(source, to: mode)
        XCTAssertEqual(try loop.run(in: mode, for: .zero), .timedOut)
        source.invalidate()
        withExtendedLifetime(counter) {}
      }
      for number in 0..<10 { try request(Self.mode(number)) }
      let before = openDescriptors()
      for (call, name) in [(1, "epoll_create1"), (2, "epoll_ctl"), (3, "epoll_ctl")] {
        Faults.plan(call: call)
        let error = thrown { try request(Self.mode(0)) }
        _ = Faults.end()
        XCTAssertEqual(error?.call, name)
        XCTAssertTrue(loop.isEmpty(in: Self.mode(0)))
        XCTAssertLessThanOrEqual(openDescriptors(), before + Self.others)
      }
      try request(Self.mode(0))
      XCTAssertEqual(called.value, 11)
      XCTAssertLessThanOrEqual(Self.descriptors(of: loop), Self.most - 1)
    }
  }

  /// What came for a mode while it had none is served by its next run: blocks, signals, wakes, messages.
  func test_RLK_MODE_5_whatWaitsForAModeWithoutDescriptorsIsServed() {
    onThread {
      let (loop, log) = (RunLoop.current, Box<[String]>([]))
      for number in 0..<6 {
        try loop.add(RunLoop.Timer(fireDate: .now) { _ in }, to: Self.mode(number))
        try loop.run(in: Self.mode(number))
      }
      XCTAssertTrue(loop.description.contains("mode request 0 {\n    port set: none yet"), loop.description)
      let source = RunLoop.Source { _ in log.update { $0.append("source") } }
      try loop.add(source, to: Self.mode(0))
      TestThread {
        source.signal()
        XCTAssertNil(thrown { try loop.perform(in: Self.mode(0)) { log.update { $0.append("block") } } })
      }.join()
      XCTAssertEqual(try loop.run(in: Self.mode(0), for: .zero, returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(log.value, ["block", "source"])
      XCTAssertTrue(loop.description.contains("mode request 0 {\n    port set: descriptor"), loop.description)
    }
  }
}
