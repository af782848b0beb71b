import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Each call that the kernel can refuse is refused once: an error, nothing half added, nothing leaked, and the same calls
/// succeed afterwards.
final class FaultTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  /// One item of each kind, what they have been told, and what they listen to.
  private struct Items {
    let calls = Box<Set<String>>([])
    let counter = EventCounter()
    let pipe = Pipe()
    let timer: RunLoop.Timer
    let all: [RunLoop.Item]

    init() throws {
      let calls = calls
      timer = RunLoop.Timer(fireDate: .distantFuture, interval: .seconds(3600)) { _ in
        _ = calls.update { $0.insert("timer") }
      }
      let port = try RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in
        _ = calls.update { $0.insert("port") }
      }
      let pipe = pipe
      let reader = try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in
        _ = calls.update { $0.insert(pipe.receive()) }
      }
      all = [timer, port, RunLoop.Source { _ in }, reader, RunLoop.Observer(.all) { _, _ in }]
    }

    /// Everything that can happen to them happens in `mode`.
    func exercise(_ loop: RunLoop, in mode: RunLoop.Mode) throws {
      counter.add()
      pipe.send("reader")
      timer.fireDate = .now
      for _ in 0..<20 where calls.value.count < 3 { try loop.run(in: mode, for: .zero) }
      XCTAssertEqual(calls.value, ["timer", "port", "reader"])
      calls.value = []
    }
  }

  private let modes: [RunLoop.Mode] = [.default, "second"]

  /// Calls `body` with the first, the second... call failing, until there are no more; how many there were.
  private func failEachCall(_ body: @escaping (_ items: Items, _ call: Int) throws -> Bool) throws -> Int {
    _ = RunLoop.main.isEmpty(in: .default)  // the main queue's handle
    for call in 1...200 {
      let before = openDescriptors()
      let hasFailed = Box(false)
      onThread {
        let items = try Items()
        hasFailed.value = try body(items, call)
        items.pipe.closeBoth()
      }
      XCTAssertEqual(openDescriptors(), before, "call \(call)")
      if !hasFailed.value { return call - 1 }
    }
    XCTFail("there is no end of it")
    return 0
  }

  private func failsWithSystemCall(_ body: () throws -> Void) -> Bool {
    do { try body() } catch {
      guard (error as? RunLoopError)?.errno != nil else {
        XCTFail("\(error)")
        return false
      }
      return true
    }
    return false
  }

  func test_RLK_FAULT_1_addingAndRunning() throws {
    let modes = modes
    let calls = try failEachCall { items, call in
      let loop = RunLoop.current
      loop.addCommonMode("second")
      let before = openDescriptors()
      var failures = 0
      Faults.plan(call: call)
      for item in items.all {
        let hasFailed = self.failsWithSystemCall { try loop.add(item, to: .common) }
        for mode in modes + [.common] { XCTAssertEqual(loop.contains(item, in: mode), !hasFailed, "\(call) \(item)") }
        failures += hasFailed ? 1 : 0
      }
      for mode in modes {
        failures += self.failsWithSystemCall { try loop.run(in: mode, for: .zero) } ? 1 : 0
        XCTAssertNil(loop.currentMode)
      }
      let isHit = Faults.end()
      // Without a timerfd its timers are added all the same.
      XCTAssertEqual(failures, isHit && !Faults.hasTakenTimerDescriptor ? 1 : 0, "call \(call)")
      for item in items.all where !loop.contains(item, in: .common) { XCTAssertTrue(try loop.add(item, to: .common)) }
      for mode in modes { try items.exercise(loop, in: mode) }
      // A wakeup port; a port set and a timer port for each mode.
      XCTAssertEqual(openDescriptors(), before + 5)
      return isHit
    }
    XCTAssertGreaterThanOrEqual(calls, 1 + 2 * (1 + 1 + 1 + 1 + 2))
  }

  func test_RLK_FAULT_2_whatAModeThatBecomesCommonDidNotGetItGetsByAddingAgain() throws {
    let modes = modes
    let calls = try failEachCall { items, call in
      let loop = RunLoop.current
      for item in items.all { try loop.add(item, to: .common) }
      Faults.plan(call: call)
      loop.addCommonMode("second")
      let isHit = Faults.end()
      XCTAssertTrue(loop.isCommonMode("second"))
      let missing = items.all.filter { !loop.contains($0, in: "second") }
      XCTAssertEqual(missing.isEmpty, !isHit || Faults.hasTakenTimerDescriptor, "call \(call)")
      for item in items.all { XCTAssertEqual(try loop.add(item, to: .common), missing.contains(item)) }
      for mode in modes { try items.exercise(loop, in: mode) }
      return isHit
    }
    XCTAssertGreaterThanOrEqual(calls, 6)
  }

  func test_RLK_FAULT_3_hosting() throws {
    let calls = try failEachCall { items, call in
      let loop = RunLoop.current
      Faults.plan(call: call)
      let hasFailed = self.failsWithSystemCall { _ = try loop.hostDescriptor().fileDescriptor }
      let isHit = Faults.end()
      XCTAssertEqual(hasFailed, isHit)
      for item in items.all { try loop.add(item) }
      XCTAssertFalse(try loop.prepareToWait())
      items.counter.add()
      var entry = try pollfd(fd: loop.hostDescriptor().fileDescriptor, events: Int16(POLLIN), revents: 0)
      XCTAssertEqual(poll(&entry, 1, 0), 1)
      try loop.runPendingWork()
      XCTAssertEqual(items.calls.value, ["port"])
      return isHit
    }
    XCTAssertEqual(calls, 5)
  }
}
