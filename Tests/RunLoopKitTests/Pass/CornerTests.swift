import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What reading the code with suspicion has found.
final class CornerTests: XCTestCase {
  func test_RLK_CORNER_1_aTimerThatMovesToAnotherLoopInItsCalloutFiresThere() {
    let (other, ready, fired) = (Box<RunLoop?>(nil), Gate(), Box(0))
    let thread = TestThread {
      let loop = RunLoop.current
      _ = try? loop.add(RunLoop.Source { _ in })
      other.value = loop
      ready.open()
      XCTAssertEqual(try? loop.run(for: .seconds(30)), .stopped)
    }
    ready.wait()
    onThread {
      let loop = RunLoop.current
      let timer = RunLoop.Timer(fireDate: .now, interval: .milliseconds(1)) { timer in
        fired.value += 1
        if other.value!.isCurrent { return other.value!.stop() }
        loop.remove(timer)
        XCTAssertTrue((try? other.value!.add(timer)) == true)
      }
      try loop.add(timer)
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
    }
    thread.join()
    XCTAssertGreaterThanOrEqual(fired.value, 2)
  }

  func test_RLK_CORNER_2_anItemOfALoopThatIsGoneJoinsNoLaterOne() {
    var orphans: [RunLoop.Source] = []
    let made = Box<RunLoop.Source?>(nil)
    for _ in 0..<50 {
      onThread { try RunLoop.current.assumeOnLoop { local in made.value = try local.source { _ in } } }
      orphans.append(made.value!)
    }
    for orphan in orphans {
      onThread {
        XCTAssertThrowsError(try RunLoop.current.add(orphan)) { XCTAssertEqual($0 as? RunLoopError, .itemInOtherLoop) }
      }
    }
  }

  func test_RLK_CORNER_3_aHostedEventWhoseItemHasLeftIsForgotten() {
    onThread {
      let loop = RunLoop.current
      let counter = EventCounter()
      weak var weakPort: RunLoop.PortSource?
      do {
        let port = try PortSourceFactory.make(counter) { XCTFail("removed") }
        weakPort = port
        try loop.add(port)
        counter.add()
        XCTAssertTrue(try loop.prepareToWait())
        loop.remove(port)
      }
      try loop.runPendingWork()
      XCTAssertNil(weakPort)
      XCTAssertFalse(try loop.prepareToWait())
      let timer = RunLoop.Timer(fireDate: .now) { _ in XCTFail("removed") }
      try loop.add(timer)
      XCTAssertTrue(try loop.prepareToWait())
      loop.remove(timer)
      try loop.runPendingWork()
      XCTAssertFalse(try loop.prepareToWait())
      let fired = Box(false)
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in fired.value = true })
      XCTAssertTrue(try loop.prepareToWait())
      try loop.runPendingWork()
      XCTAssertTrue(fired.value)
    }
  }

  func test_RLK_CORNER_6_extremeDurationsSaturate() {
    let moment = RunLoop.Instant(nanoseconds: 1000)
    for lowest in [Duration(attoseconds: .min), .seconds(Int64.min), .seconds(-100)] {
      XCTAssertEqual(moment.advanced(by: lowest).nanoseconds, 0)
    }
    XCTAssertEqual(moment.advanced(by: Duration(attoseconds: .max)), .distantFuture)
    onThread {
      let loop = RunLoop.current
      let timer = RunLoop.Timer(
        fireDate: .now, interval: Duration(attoseconds: .max), tolerance: Duration(attoseconds: .min)
      ) { _ in loop.stop() }
      try loop.add(timer)
      XCTAssertEqual(try loop.run(for: Duration(attoseconds: .max)), .stopped)
      XCTAssertEqual(timer.fireDate, .distantFuture)
      XCTAssertEqual(try loop.run(for: Duration(attoseconds: .min)), .timedOut)
      XCTAssertEqual(try loop.run(until: .init(nanoseconds: 0)), .timedOut)
    }
  }

  func test_RLK_CORNER_7_aServedSourceThatIsAddedAnewIsStillLeftOut() {
    onThread {
      let loop = RunLoop.current
      let (depth, calls, pipe) = (Box(0), Box(0), Pipe())
      defer { pipe.closeBoth() }
      try loop.add(RunLoop.Timer.never())
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { source, _ in
        XCTAssertEqual(depth.value, 0)
        calls.value += 1
        depth.value += 1
        defer { depth.value -= 1 }
        if calls.value > 3 { return }
        try? loop.enqueue {
          loop.remove(source)
          _ = try? loop.add(source)
        }
        for _ in 0..<3 { _ = try? loop.run(for: .milliseconds(1)) }
      }
      try loop.add(source)
      pipe.send("x")
      for expected in 1...2 {
        XCTAssertEqual(try loop.run(for: .zero, returnAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(calls.value, expected)
      }
    }
  }

  /// In whichever mode, and however many runs lie between.
  func test_RLK_CORNER_7_alsoInRunsOfRuns() {
    onThread {
      let (loop, calls, pipe) = (RunLoop.current, Box(0), Pipe())
      defer { pipe.closeBoth() }
      let modes: [RunLoop.Mode] = [.default, "other", "third"]
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { source, _ in
        calls.value += 1
        guard calls.value == 1 else { return }
        @Sendable func run(_ rest: ArraySlice<RunLoop.Mode>) {
          guard let mode = rest.first else { return }
          try? loop.enqueue(in: mode) {
            loop.remove(source, from: mode)
            _ = try? loop.add(source, to: mode)
            run(rest.dropFirst())
          }
          XCTAssertEqual(try? loop.run(in: mode, for: .zero), .timedOut)
        }
        run(modes[...])
        run([.default, .default, .default])
      }
      for mode in modes { try loop.add(source, to: mode) }
      pipe.send("x")
      for (index, mode) in ([.default] + modes).enumerated() {
        XCTAssertEqual(try loop.run(in: mode, for: .zero, returnAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(calls.value, index + 1)
      }
    }
  }

  func test_RLK_CORNER_8_theChildOfAForkingCalloutCallsNothingFurther() {
    for isBlock in [true, false] {
      onThread {
        let loop = RunLoop.current
        let (child, isInChild, later) = (Box<pid_t>(-1), Box(false), Box(0))
        @Sendable func divide() {
          child.value = test_fork()
          isInChild.value = child.value == 0
        }
        if isBlock {
          try loop.enqueue { divide() }
        } else {
          try loop.add(RunLoop.Observer(.entry) { _, _ in divide() })
        }
        try loop.enqueue { later.value += 1 }
        try loop.add(RunLoop.Observer([.entry, .exit], order: 1) { _, _ in if child.value != -1 { later.value += 1 } })
        _ = try? loop.run(for: .zero)
        if isInChild.value { _exit(later.value == 0 ? 0 : 1) }
        var status: Int32 = 0
        while waitpid(child.value, &status, 0) < 0 {}
        XCTAssertEqual(status, 0)
        XCTAssertEqual(later.value, isBlock ? 2 : 3)
      }
    }
  }

  func test_RLK_CORNER_8_norReleasesTheClosureOfAnotherTimerThatIsDue() {
    final class Token: Sendable {
      let uses: Box<Int>
      init(_ uses: Box<Int>) { self.uses = uses }
      deinit { uses.value += 1 }
    }
    onThread {
      let (child, isInChild, uses) = (Box<pid_t>(-1), Box(false), Box(0))
      let (loop, date) = (RunLoop.current, RunLoop.Instant.now)
      try loop.add(
        RunLoop.Timer(fireDate: date) { _ in
          child.value = test_fork()
          isInChild.value = child.value == 0
        })
      let token = Token(uses)
      try loop.add(RunLoop.Timer(fireDate: date) { [token] _ in token.uses.value += 1 })
      _ = consume token
      _ = try? loop.run(for: .zero)
      if isInChild.value { _exit(uses.value == 0 ? 0 : 1) }
      var status: Int32 = 0
      while waitpid(child.value, &status, 0) < 0 {}
      XCTAssertEqual(status, 0)
      XCTAssertEqual(uses.value, 2)
    }
  }

  func test_RLK_CORNER_8_norGoesOnBehindAComparison() {
    struct Forking: Hashable, Sendable {
      let child: Box<pid_t>
      static func == (a: Forking, b: Forking) -> Bool {
        a.child.value = test_fork()
        return false
      }
      func hash(into hasher: inout Hasher) {}
    }
    onThread {
      let (loop, child) = (RunLoop.current, Box<pid_t>(-1))
      func source() -> RunLoop.Source {
        var hooks = RunLoop.Source.Hooks()
        hooks.identity = Forking(child: child)
        return RunLoop.Source(hooks: hooks) { _ in }
      }
      try loop.add(source())
      let isAdded = try? loop.add(source())
      if child.value == 0 { _exit(isAdded == nil ? 0 : 1) }
      var status: Int32 = 0
      while waitpid(child.value, &status, 0) < 0 {}
      XCTAssertEqual(status, 0)
      XCTAssertEqual(isAdded, true)
    }
  }

  func test_RLK_CORNER_9_theMomentOfALimitDoesNotMove() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      let moment = RunLoop.Instant.now.advanced(by: .milliseconds(3))
      let passes = Box(0)
      try loop.add(RunLoop.Observer(.entry) { _, _ in while RunLoop.Instant.now < moment {} })
      try loop.add(RunLoop.Observer(.beforeWaiting) { _, _ in passes.value += 1 })
      XCTAssertEqual(try loop.run(until: moment), .timedOut)
      XCTAssertEqual(passes.value, 0)
    }
  }
}
