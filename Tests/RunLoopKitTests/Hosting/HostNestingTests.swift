import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// A host whose own loop runs in a callout of the loop: a dialogue, a popup, a drag.
final class HostNestingTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }
  override func tearDown() { CountingKernel.script = CountingKernel.Script() }

  /// The host's loop until the condition holds.
  private static func host(_ loop: RunLoop, in mode: RunLoop.Mode = .default, until isOver: () -> Bool) {
    do {
      let descriptor = try loop.hostDescriptor(in: mode).fileDescriptor
      while !isOver() {
        if try !loop.prepareToWait(in: mode), !isReadable(descriptor, 30_000) { return XCTFail("nothing has come") }
        try loop.runPendingWork(in: mode)
      }
    } catch {
      XCTFail("\(error)")
    }
  }

  /// In which callout the host's loop runs: the next pass calls the body once.
  private typealias Kind = (
    name: String, begin: @Sendable (RunLoop, @escaping @Sendable () -> Void) throws -> Void
  )

  private static let kinds: [Kind] = [
    ("block", { loop, body in try loop.enqueue { body() } }),
    (
      "source",
      { loop, body in
        let source = RunLoop.Source { source in
          source.invalidate()
          body()
        }
        try loop.add(source)
        source.signal()
      }
    ),
    ("timer", { loop, body in try loop.add(RunLoop.Timer(fireDate: .now) { _ in body() }) }),
    (
      "port source",
      { loop, body in
        let counter = EventCounter()
        let calls = Box(0)
        counter.add()
        try loop.add(
          PortSourceFactory.make(counter) {
            calls.value += 1
            if calls.value == 1 { withExtendedLifetime(counter) { body() } }
          })
      }
    ),
    (
      "message",
      { loop, body in
        let port = Port { port, _ in
          port.invalidate()
          body()
        }
        try loop.add(port)
        try port.sendRight.send(Message())
      }
    ),
    (
      "observer",
      { loop, body in
        try loop.add(RunLoop.Observer(.beforeSources, repeats: false) { _, _ in body() })
      }
    ),
  ]

  private func forEachKind(_ body: @escaping (RunLoop, Kind) throws -> Void) {
    for kind in Self.kinds {
      onThread {
        let loop = RunLoop.current
        try loop.add(RunLoop.Timer.never())
        try body(loop, kind)
      }
    }
  }

  // MARK: What is served inside

  /// In each kind of callout, whoever has made the run: the host, or a plain one.
  func test_RLK_HOST_26_theLoopIsServedInACallout() {
    for isHosted in [true, false] {
      forEachKind { loop, kind in
        let (log, source) = (Box<Set<String>>([]), RunLoop.Source { _ in })
        let port = Port { _, _ in _ = log.update { $0.insert("message") } }
        let signalled = RunLoop.Source { _ in _ = log.update { $0.insert("source") } }
        for item in [source, port, signalled] as [RunLoop.Item] { try loop.add(item) }
        try kind.begin(loop) {
          TestThread {
            try? loop.perform { _ = log.update { $0.insert("block") } }
            _ = try? loop.add(RunLoop.Timer(fireDate: .now) { _ in _ = log.update { $0.insert("timer") } })
            try? port.sendRight.send(Message())
            signalled.signal()
            loop.wakeUp()
          }.join()
          Self.host(loop) { log.value.count == 4 }
          _ = log.update { $0.insert("over") }
        }
        if isHosted {
          try loop.enqueue {}  // so that there is a pass
          Self.host(loop) { log.value.count == 5 }
        } else {
          XCTAssertEqual(try loop.run(for: .zero), .timedOut, kind.name)
        }
        XCTAssertEqual(log.value, ["block", "timer", "message", "source", "over"], kind.name)
        XCTAssertNil(loop.currentMode, kind.name)
      }
    }
  }

  func test_RLK_HOST_26_toAnyDepth() {
    onThread {
      let (loop, depth, served) = (RunLoop.current, Box(0), Box(0))
      try loop.add(RunLoop.Timer.never())
      @Sendable func open() {
        let level = depth.update {
          $0 += 1
          return $0
        }
        if level < 20 { TestThread { try? loop.perform { open() } }.join() }
        Self.host(loop) { level == 20 || served.value == 20 - level }
        served.value += 1
      }
      try loop.perform { open() }
      Self.host(loop) { served.value == 20 }
      XCTAssertFalse(try loop.prepareToWait())
      try loop.cancelWait()
    }
  }

  /// Its descriptor stays readable, and the host inside sleeps nevertheless; when the callout is over it is called again.
  func test_RLK_HOST_26_whatIsOnTheStackIsNotCalledAgain() {
    onThread {
      let (loop, calls, fired, pipe) = (RunLoop.current, Box(0), Box(0), Pipe())
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in
        calls.value += 1
        guard calls.value == 1 else { return _ = pipe.receive() }
        let descriptor = (try? loop.hostDescriptor().fileDescriptor) ?? -1
        XCTAssertEqual(try? loop.prepareToWait(), false)
        XCTAssertFalse(isReadable(descriptor))
        XCTAssertEqual(try? loop.runPendingWork(), .timedOut)
        XCTAssertEqual(calls.value, 1)
      }
      let timer = RunLoop.Timer(fireDate: .now, interval: .nanoseconds(1)) { timer in
        fired.value += 1
        let before = fired.value
        XCTAssertEqual(try? loop.runPendingWork(), .timedOut)
        XCTAssertEqual(fired.value, before)
        timer.invalidate()
      }
      try loop.add(source)
      pipe.send("x")
      Self.host(loop) { calls.value == 2 }
      try loop.add(timer)
      Self.host(loop) { fired.value == 1 }
      source.invalidate()
      pipe.closeBoth()
    }
  }

  /// What one expiry, or one wait, has found with it: the host does not sleep over that.
  func test_RLK_HOST_26_whatHasComeWithItIsServedInside() {
    let together = RunLoop.Instant.now.advanced(by: .milliseconds(20))
    let timers: Kind = (
      "date", { loop, body in try loop.add(RunLoop.Timer(fireDate: together) { _ in body() }) }
    )
    for kind in [timers] + Self.kinds where !["block", "observer"].contains(kind.name) {
      onThread {
        let (loop, log) = (RunLoop.current, Box<[String]>([]))
        try kind.begin(loop) {
          XCTAssertEqual(try? loop.prepareToWait(), true, kind.name)
          XCTAssertEqual(try? loop.runPendingWork(), .timedOut)
          log.update { $0.append("over") }
          loop.stop()
        }
        try kind.begin(loop) { log.update { $0.append("inside") } }
        XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped, kind.name)
        XCTAssertEqual(log.value, ["inside", "over"], kind.name)
      }
    }
  }

  /// The observers that the host's call notifies are callouts inside of the one that is on the stack.
  func test_RLK_HOST_26_theCalloutAroundItIsStillOnTheStack() {
    onThread {
      let (loop, refusals) = (RunLoop.current, Box<[RunLoopError?]>([]))
      try loop.add(RunLoop.Observer([.beforeWaiting, .afterWaiting]) { _, _ in })
      let source = RunLoop.Source { source in
        XCTAssertEqual(try? loop.prepareToWait(), false)
        refusals.update { $0.append(thrown { try source.invalidateAndWait() }) }
        XCTAssertEqual(try? loop.runPendingWork(), .timedOut)
        refusals.update { $0.append(thrown { try source.invalidateAndWait() }) }
      }
      try loop.add(source)
      source.signal()
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      let refused: [RunLoopError?] = [.wouldDeadlock, .wouldDeadlock]
      XCTAssertEqual(refusals.value, refused)
    }
  }

  /// The host serves its mode, whatever the run is in; and tells of work there alone.
  func test_RLK_HOST_26_inAnotherModeThanTheRun() {
    onThread {
      let (loop, log) = (RunLoop.current, Box<[String]>([]))
      let port = Port { _, _ in log.update { $0.append("message") } }
      try loop.add(port)
      try loop.perform(in: "run") {
        TestThread {
          try? loop.perform(in: "run") { log.update { $0.append("run") } }
          try? port.sendRight.send(Message())
        }.join()
        Self.host(loop) { log.value == ["message"] }
        XCTAssertEqual(loop.currentMode, "run")
        let descriptor = (try? loop.hostDescriptor().fileDescriptor) ?? -1
        XCTAssertEqual(try? loop.prepareToWait(), false)
        XCTAssertEqual(loop.currentMode, .default)
        TestThread { try? port.sendRight.send(Message()) }.join()
        XCTAssertTrue(isReadable(descriptor))
      }
      XCTAssertEqual(try loop.run(in: "run", for: .zero), .timedOut)
      XCTAssertEqual(log.value, ["message", "run"])
    }
  }

  // MARK: Stops and wakes

  func test_RLK_HOST_28_aStopInsideIsTheInnermostHosts() {
    forEachKind { loop, kind in
      if kind.name == "observer" { return }  // nothing there makes a pass
      let results = Box<[RunLoop.RunResult?]>([])
      try kind.begin(loop) {
        XCTAssertEqual(try? loop.prepareToWait(), false)
        TestThread { loop.stop() }.join()
        results.update { $0.append(try? loop.runPendingWork()) }
        try? loop.enqueue { loop.stop() }
        results.update { $0.append(try? loop.runPendingWork()) }
        results.update { $0.append(try? loop.runPendingWork()) }
      }
      XCTAssertEqual(try loop.runPendingWork(), .timedOut, kind.name)
      XCTAssertEqual(results.value, [.stopped, .stopped, .timedOut], kind.name)
    }
  }

  /// What was asked of the run before the dialogue neither ends that nor is forgotten (rule 20), nor is its pass's wait
  /// blocked.
  func test_RLK_HOST_28_aStopBeforeIsTheRuns() {
    for isServed in [true, false] {
      forEachKind { loop, kind in
        let passes = Box(0)
        try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
        try kind.begin(loop) {
          loop.stop()
          XCTAssertEqual(try? loop.prepareToWait(), false)
          if isServed { XCTAssertEqual(try? loop.runPendingWork(), .timedOut) }
        }
        XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped, kind.name)
        XCTAssertEqual(passes.value, 1, kind.name)
      }
    }
  }

  /// Rule 17: the dialogue's wait has taken a wake that may have been meant for the run, whose pass has its wait to come.
  func test_RLK_HOST_28_aWakeInsideIsPassedOn() {
    for way in 0..<4 {
      onThread {
        let (loop, passes) = (RunLoop.current, Box(0))
        try loop.add(RunLoop.Timer.never())
        try loop.add(
          RunLoop.Observer(.beforeTimers) { _, _ in
            passes.value += 1
            if passes.value == 3 { loop.stop() }
          })
        try loop.enqueue {
          if way == 3 { loop.wakeUp() }
          XCTAssertEqual(try? loop.prepareToWait(), way == 3)
          if way < 3 { loop.wakeUp() }
          switch way {
          case 0: XCTAssertEqual(try? loop.runPendingWork(), .timedOut)
          case 1: try? loop.cancelWait()
          case 2: break  // the wait is left open
          default: passes.value += 1
          }
          if way > 0, way < 3 { passes.value += 1 }
        }
        XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped, "\(way)")
      }
    }
  }

  /// As `RLK_HOST_10`: inside of a callout, before the wait of its pass and after it.
  func test_RLK_HOST_28_aRunOfTheHostsOwnLosesNoWake() {
    forEachKind { loop, kind in
      let passes = Box(0)
      try kind.begin(loop) {
        let descriptor = (try? loop.hostDescriptor().fileDescriptor) ?? -1
        XCTAssertEqual(try? loop.prepareToWait(), false)
        loop.wakeUp()
        XCTAssertEqual(try? loop.run(for: .zero), .timedOut)
        XCTAssertTrue(isReadable(descriptor))
        _ = try? loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
        XCTAssertEqual(try? loop.runPendingWork(), .timedOut)
        XCTAssertEqual(passes.value, 1, kind.name)
      }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
    }
  }

  // MARK: Waits that a callout leaves open

  func test_RLK_HOST_27_aWaitEndsWithTheCalloutThatHasBegunIt() {
    forEachKind { loop, kind in
      let (told, states) = (Box<[RunLoop.Activity]>([]), Box<[String]>([]))
      try kind.begin(loop) {
        _ = try? loop.add(
          RunLoop.Observer([.beforeWaiting, .afterWaiting]) { _, activity in told.update { $0.append(activity) } },
          to: "inside")
        XCTAssertEqual(try? loop.prepareToWait(in: "inside"), false)
        states.update { $0.append("\(loop.isWaiting) \(loop.currentMode?.rawValue ?? "")") }
        // The last step of the pass comes after all callouts.
        try? loop.enqueue { states.update { $0.append("\(loop.isWaiting) \(told.value.count)") } }
      }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut, kind.name)
      XCTAssertEqual(try loop.run(for: .zero), .timedOut, kind.name)
      XCTAssertEqual(states.value, ["true inside", "false 2"], kind.name)
      XCTAssertEqual(told.value, [.beforeWaiting, .afterWaiting], kind.name)
      XCTAssertNil(loop.currentMode, kind.name)
      XCTAssertEqual(try loop.runPendingWork(in: "inside"), .timedOut)
    }
  }

  /// Nobody can tell whether it came before the dialogue's end or after it: the run has it.
  func test_RLK_HOST_27_aStopThatComesForItIsTheRuns() {
    forEachKind { loop, kind in
      let passes = Box(0)
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
      try kind.begin(loop) {
        XCTAssertEqual(try? loop.prepareToWait(), false)
        TestThread { loop.stop() }.join()
      }
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped, kind.name)
      XCTAssertEqual(passes.value, 1, kind.name)
    }
  }

  /// Of a callout further out the wait goes on.
  func test_RLK_HOST_27_aWaitAroundItGoesOn() {
    onThread {
      let (loop, ran) = (RunLoop.current, Box(0))
      try loop.add(RunLoop.Timer.never())
      let descriptor = try loop.hostDescriptor().fileDescriptor
      XCTAssertFalse(try loop.prepareToWait())
      try loop.enqueue {
        XCTAssertEqual(try? loop.prepareToWait(), false)
        XCTAssertEqual(try? loop.runPendingWork(), .timedOut)
        XCTAssertEqual(try? loop.prepareToWait(), false)
      }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(loop.currentMode, .default)
      TestThread { try? loop.perform { ran.value += 1 } }.join()
      XCTAssertTrue(isReadable(descriptor))
      loop.stop()
      XCTAssertEqual(try loop.runPendingWork(), .stopped)
      XCTAssertEqual(ran.value, 1)
      XCTAssertNil(loop.currentMode)
    }
  }

  /// The end of a scope is no callout: its wait ends with the run. So does one that an observer of that end begins.
  func test_RLK_HOST_27_aWaitThatAnObserverOfTheEndBegins() {
    onThread {
      let (loop, told) = (RunLoop.current, Box<[String]>([]))
      try loop.add(RunLoop.Timer.never())
      for mode: RunLoop.Mode in ["first", "second"] {
        try loop.add(
          RunLoop.Observer(.afterWaiting) { _, _ in
            told.update { $0.append(mode.rawValue) }
            if mode == "first" { XCTAssertEqual(try? loop.prepareToWait(in: "second"), false) }
          }, to: mode)
      }
      try loop.enqueue { RunLoop.Scope.deferred { XCTAssertEqual(try? loop.prepareToWait(in: "first"), false) } }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(told.value, ["first", "second"])
      XCTAssertNil(loop.currentMode)
      XCTAssertEqual(thrown { try loop.runPendingWork(in: "first") }, nil)
    }
  }

  /// It has a wait in a callout, and one around the run in which that is.
  func test_RLK_HOST_20_aHostThatLeavesEndsItsWaitsOnAllLevels() {
    onThread {
      let (loop, told) = (RunLoop.current, Box<[RunLoop.Activity]>([]))
      try loop.add(RunLoop.Timer.never())
      try loop.add(
        RunLoop.Observer([.beforeWaiting, .afterWaiting]) { _, activity in told.update { $0.append(activity) } })
      XCTAssertFalse(try loop.prepareToWait())
      try loop.enqueue {
        XCTAssertEqual(try? loop.prepareToWait(), false)
        XCTAssertNil(thrown { try loop.cancelWait() })
        XCTAssertEqual(told.value, [.beforeWaiting, .beforeWaiting, .afterWaiting])
        XCTAssertFalse(loop.isWaiting)
      }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(told.value, [.beforeWaiting, .beforeWaiting, .afterWaiting, .afterWaiting])
      XCTAssertNil(loop.currentMode)
      loop.stop()
      XCTAssertFalse(try loop.prepareToWait())
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
    }
  }
}
