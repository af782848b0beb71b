import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// The child of fork(2) leaves the parent's loops alone.
final class ForkTests: XCTestCase {
  /// Runs `body` in a child and expects it to answer true.
  private func inChild(_ body: () -> Bool, file: StaticString = #filePath, line: UInt = #line) {
    let child = test_fork()
    if child == 0 { _exit(body() ? 0 : 1) }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 {}
    XCTAssertEqual(status, 0, file: file, line: line)
  }

  func test_RLK_FORK_1_theChildsCallsAreRefusedAndTheParentLosesNothing() {
    onThread {
      let loop = RunLoop.current
      let (ticks, counter, wakes) = (Box(0), EventCounter(), Box(0))
      let timer = RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(5)), interval: .milliseconds(5)) { _ in
        ticks.value += 1
        if ticks.value == 5 { loop.stop() }
      }
      let port = try PortSourceFactory.make(counter) { wakes.value += 1 }
      let source = RunLoop.Source { _ in }
      for item in [timer, port, source] as [RunLoop.Item] { try loop.add(item, to: .common) }
      try loop.run(for: .zero)
      self.inChild {
        func isForked(_ body: () throws -> Void) -> Bool {
          do { try body() } catch { return error as? RunLoopError == .forked }
          return false
        }
        loop.wakeUp()
        loop.stop()
        loop.remove(port, from: .common)
        timer.fireDate = .distantFuture
        for item in [timer, port, source] as [RunLoop.Item] { item.invalidate() }
        guard isForked({ try loop.run(for: .zero) }), isForked({ try loop.perform {} }),
          isForked({ try loop.add(RunLoop.Timer.never()) }), loop.modes.isEmpty, !loop.contains(port), !timer.isValid
        else { return false }
        let fresh = RunLoop.current
        let mine = RunLoop.Timer(fireDate: .now) { _ in fresh.stop() }
        return fresh !== loop && (try? fresh.add(mine)) == true && (try? fresh.run(for: .seconds(30))) == .stopped
      }
      counter.add()
      XCTAssertEqual(try loop.run(for: .seconds(60)), .stopped)
      XCTAssertEqual(ticks.value, 5)
      XCTAssertEqual(wakes.value, 1)
    }
  }

  func test_RLK_FORK_2_aForkInACalloutLeavesTheChildsRun() {
    onThread {
      let loop = RunLoop.current
      let child = Box<pid_t>(-1)
      let source = RunLoop.Source { _ in child.value = test_fork() }
      try loop.add(source)
      source.signal()
      let result = Result { try loop.run(for: .milliseconds(20)) }
      if child.value == 0 { _exit(Self.isForked(result) ? 0 : 1) }
      var status: Int32 = 0
      while waitpid(child.value, &status, 0) < 0 {}
      XCTAssertEqual(status, 0)
      XCTAssertEqual(try result.get(), .timedOut)
    }
  }

  /// Whichever callout has forked, and whatever is due behind it.
  func test_RLK_FORK_2_theChildCallsNothingMore() {
    for kind in ["block", "waiting", "source", "timer", "observer", "job"] {
      onThread {
        let (loop, child, calls) = (RunLoop.current, Box<pid_t>(-1), Box(0))
        // The parent goes on behind the fork, in the same pass.
        @Sendable func call(_ caller: String) {
          if child.value == 0 { calls.value += 1 }
          if caller == kind, child.value == -1 { child.value = test_fork() }
        }
        let mode: RunLoop.Mode = "forking"
        let timers = (0..<2).map { _ in RunLoop.Timer(after: .zero) { _ in call("timer") } }
        let sources = (0..<2).map { _ in RunLoop.Source { _ in call("source") } }
        let observers = (0..<2).map { _ in RunLoop.Observer(.all) { _, _ in call("observer") } }
        for item in timers + sources + observers as [RunLoop.Item] { try loop.add(item, to: mode) }
        for source in sources { source.signal() }
        for _ in 0..<2 { try loop.enqueue(in: mode) { call("waiting") } }
        try loop.enqueue {}
        try loop.run(in: .default, for: .zero)  // passes by those of the other mode
        for _ in 0..<2 { try loop.enqueue(in: mode) { call("block") } }
        for _ in 0..<2 { Task(executorPreference: loop.executor(in: mode)) { call("job") } }
        let result = Result { try loop.run(in: mode, for: .zero) }
        if child.value == 0 { _exit(Self.isForked(result) && calls.value == 0 ? 0 : 1) }
        try self.check(child.value, result, kind)
      }
    }
  }

  private func check(_ child: pid_t, _ result: Result<RunLoop.RunResult, any Error>, _ kind: String) throws {
    var status: Int32 = 0
    XCTAssertEqual(waitpid(child, &status, 0), child, kind)
    XCTAssertEqual(status, 0, kind)
    XCTAssertNoThrow(try result.get(), kind)
  }

  /// By what is called before the first pass and behind the last one, also if a stop or the limit has ended the run.
  func test_RLK_FORK_5_aForkAtEitherEndOfARun() {
    for kind in ["entry", "exit", "scope"] {
      for stops in [false, true] {
        onThread {
          let (loop, child) = (RunLoop.current, Box<pid_t>(-1))
          let fork: @Sendable () -> Void = { if child.value == -1 { child.value = test_fork() } }
          try loop.add(RunLoop.Timer.never())
          let atEntry = RunLoop.Observer(.entry) { _, _ in
            if stops { loop.stop() }
            if kind == "entry" { fork() }
            if kind == "scope" { RunLoop.Scope.deferred { fork() } }
          }
          try loop.add(atEntry)
          if kind == "exit" { try loop.add(RunLoop.Observer(.exit) { _, _ in fork() }) }
          let result = Result { try loop.run(for: .zero) }
          if child.value == 0 { _exit(Self.isForked(result) ? 0 : 1) }
          try self.check(child.value, result, kind)
        }
      }
    }
  }

  private static func isForked<Value>(_ result: Result<Value, any Error>) -> Bool {
    do { _ = try result.get() } catch { return error as? RunLoopError == .forked }
    return false
  }

  /// Every call that runs the loop ends so in the child, also around a nested run. A stop before the fork is another
  /// matter: it was the parent's.
  func test_RLK_FORK_5_theRunsAroundAForkThrowInTheChild() {
    let calls: [(RunLoop) -> Bool] = [
      { loop in Self.isForked(Result { try loop.run() }) },
      { loop in Self.isForked(Result { try loop.runUntilStopped() }) },
      { loop in Self.isForked(Result { try loop.run(until: false, timeout: .seconds(60)) }) },
      { loop in Self.isForked(Result { try loop.runAllModes(slice: .seconds(60), until: { false }) }) },
    ]
    for call in calls {
      for isNested in [false, true] {
        onThread {
          let loop = RunLoop.current
          let (child, inner) = (Box<pid_t>(-1), Box(true))
          try loop.enqueue {
            guard isNested else { return Self.divide(loop, child) }
            try? loop.enqueue { Self.divide(loop, child) }
            inner.value = Self.isForked(Result { try loop.run(for: .seconds(60)) })
            loop.stop()
          }
          let isForked = call(loop)
          if child.value == 0 { _exit(isForked && inner.value ? 0 : 1) }
          var status: Int32 = 0
          while waitpid(child.value, &status, 0) < 0 {}
          XCTAssertEqual(status, 0)
          XCTAssertFalse(isForked)
        }
      }
    }
  }

  /// The parent's run ends, too.
  private static func divide(_ loop: RunLoop, _ child: Box<pid_t>) {
    child.value = test_fork()
    loop.stop()
  }

  /// The forking thread is the child's main thread, which has asked for no loop as `current` yet.
  func test_RLK_FORK_3_theMainLoopIsTheMainThreadsBeforeItIsAskedForAsCurrent() {
    onThread {
      XCTAssertFalse(RunLoop.main.isCurrent)
      self.inChild {
        let main = RunLoop.main
        let result = try? main.run(for: .zero)
        return result != nil && main.isCurrent && main === RunLoop.current
      }
    }
  }

  /// The hook's caller goes on in the child, too.
  func test_RLK_FORK_4_aHookThatForksKeepsItsLoop() {
    onThread {
      let child = Box<pid_t>(-1)
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { loop, _ in
        guard child.value == -1 else { return }
        child.value = test_fork()
        guard child.value == 0 else { return }
        weak let inherited = loop
        _ = RunLoop.current
        _exit(inherited == nil ? 1 : 0)
      }
      let source = RunLoop.Source(hooks: hooks) { _ in }
      for mode: RunLoop.Mode in ["one", "other"] { try RunLoop.current.add(source, to: mode) }
      source.invalidate()
      var status: Int32 = 0
      while waitpid(child.value, &status, 0) < 0 {}
      XCTAssertEqual(status, 0)
    }
  }
}
