import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class ScopeTests: XCTestCase {
  func test_RLK_SCOPE_1_lastInFirstOutAndNested() {
    let log = Box<[Int]>([])
    func put(_ value: Int) { RunLoop.Scope.deferred { log.update { $0.append(value) } } }
    RunLoop.Scope.with {
      put(1)
      RunLoop.Scope.with {
        put(2)
        put(3)
      }
      put(4)
      RunLoop.Scope.deferred { put(5) }
    }
    XCTAssertEqual(log.value, [3, 2, 5, 4, 1])
  }

  func test_RLK_SCOPE_2_drainedAfterTheLastObserverBeforeWaitingAndAtExit() {
    onThread {
      let loop = RunLoop.current
      let log = Box<[String]>([])
      try loop.add(
        RunLoop.Observer(.entry, order: .min) { _, _ in RunLoop.Scope.deferred { log.update { $0.append("drained") } } }
      )
      try loop.add(
        RunLoop.Observer([.beforeWaiting, .exit], order: .max) { _, activity in
          log.update { $0.append("\(activity)") }
          RunLoop.Scope.deferred { log.update { $0.append("after \(activity)") } }
        })
      try loop.add(RunLoop.Observer(.afterWaiting, order: .min) { _, _ in log.update { $0.append("awake") } })
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in loop.stop() })
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      XCTAssertEqual(log.value, ["before-waiting", "after before-waiting", "drained", "awake", "exit", "after exit"])
    }
  }

  /// Each time, behind all callouts of the pass: a run that is busy piles nothing up.
  func test_RLK_SCOPE_2_drainedByEachPassThatPolls() {
    onThread {
      let (loop, log, counter) = (RunLoop.current, Box<[String]>([]), EventCounter())
      let note: @Sendable (String) -> Void = { name in
        log.update { $0.append(name) }
        RunLoop.Scope.deferred { log.update { $0.append("end of \(name)") } }
      }
      let source = RunLoop.Source { source in
        note("source")
        counter.add()
        if log.value.count(where: { $0 == "source" }) < 3 { source.signal() } else { loop.stop() }
      }
      try loop.add(source)
      try loop.add(PortSourceFactory.make(counter) { try? loop.enqueue { note("block") } })
      source.signal()
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      let pass = ["source", "block", "end of block", "end of source"]
      XCTAssertEqual(log.value, pass + pass + pass)
    }
  }

  /// A host's sleep is one of the loop's. What observers put there afterwards does not wait for the thread's end.
  func test_RLK_SCOPE_2_drainedBeforeAndAfterAHostSleeps() {
    onThread {
      let (loop, log) = (RunLoop.current, Box<[String]>([]))
      try loop.add(RunLoop.Timer.never())
      try loop.add(
        RunLoop.Observer([.beforeWaiting, .afterWaiting]) { _, activity in
          log.update { $0.append("\(activity)") }
          RunLoop.Scope.deferred { log.update { $0.append("end of \(activity)") } }
        })
      let (before, after) = (["before-waiting", "end of before-waiting"], ["after-waiting", "end of after-waiting"])
      XCTAssertFalse(try loop.prepareToWait())
      XCTAssertEqual(log.value, before)
      loop.wakeUp()
      try loop.runPendingWork()
      XCTAssertEqual(log.value, before + after)
      XCTAssertFalse(try loop.prepareToWait())
      try loop.cancelWait()
      XCTAssertEqual(log.value, before + after + before + after)
    }
  }

  func test_RLK_SCOPE_3_drainedAfterAPollingPassAndByNestedRuns() {
    onThread {
      let loop = RunLoop.current
      let log = Box<[String]>([])
      let source = RunLoop.Source { _ in
        RunLoop.Scope.deferred { log.update { $0.append("outer") } }
        try? loop.enqueue(in: "inner") { RunLoop.Scope.deferred { log.update { $0.append("inner") } } }
        _ = try? loop.run(in: "inner", for: .zero)
        log.update { $0.append("still in the callout") }
      }
      try loop.add(source)
      source.signal()
      try loop.run(for: .zero)
      XCTAssertEqual(log.value, ["inner", "still in the callout", "outer"])
    }
  }

  func test_RLK_SCOPE_4_objectsAreReleasedAndThreadEndDrains() {
    final class Token: Sendable {}
    weak var token: Token?
    let ran = Box(false)
    RunLoop.Scope.with {
      let made = Token()
      token = made
      RunLoop.Scope.autorelease(made)
      XCTAssertNotNil(token)
    }
    XCTAssertNil(token)
    onThread { RunLoop.Scope.deferred { ran.value = true } }
    XCTAssertTrue(ran.value)
  }
}
