import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class DelayedPerformTests: XCTestCase {
  private final class Target: @unchecked Sendable {
    var log: [Int] = []
  }

  func test_RLK_DELAY_1_byTargetAloneOrByTargetAndKey() {
    onThread {
      let (loop, first, second) = (RunLoop.current, Target(), Target())
      for number in 0..<6 {
        try loop.perform(after: .zero, target: first, key: number % 3) { first.log.append(number) }
        try loop.perform(after: .zero, target: second, key: number % 3) { second.log.append(number) }
      }
      XCTAssertEqual(loop.cancelPerforms(target: first, key: 1), 2)
      XCTAssertEqual(loop.cancelPerforms(target: first, key: "1"), 0)
      XCTAssertEqual(loop.cancelPerforms(target: second), 6)
      XCTAssertEqual(loop.cancelPerforms(target: second), 0)
      XCTAssertEqual(try loop.run(for: .seconds(60)), .finished)
      XCTAssertEqual(first.log, [0, 2, 3, 5])
      XCTAssertEqual(second.log, [])
      XCTAssertEqual(loop.cancelPerforms(target: first), 0)
    }
  }

  func test_RLK_DELAY_2_theHandleCancelsOnce() {
    onThread {
      let (loop, target) = (RunLoop.current, Target())
      let cancelled = try loop.perform(after: .zero) { target.log.append(1) }
      let performed = try loop.perform(after: .zero) { target.log.append(2) }
      XCTAssertTrue(cancelled.isPending && performed.isPending)
      XCTAssertTrue(cancelled.cancel())
      XCTAssertFalse(cancelled.cancel() || cancelled.isPending)
      XCTAssertEqual(try loop.run(for: .seconds(60)), .finished)
      XCTAssertFalse(performed.cancel() || performed.isPending)
      XCTAssertEqual(target.log, [2])
    }
  }

  func test_RLK_DELAY_3_oneThatRunsCancelsItsNeighboursAndNotItself() {
    onThread {
      let (loop, target) = (RunLoop.current, Target())
      for number in 0..<3 {
        try loop.perform(after: .zero, target: target) {
          target.log.append(number)
          XCTAssertEqual(loop.cancelPerforms(target: target), 2)
        }
      }
      XCTAssertEqual(try loop.run(for: .seconds(60)), .finished)
      XCTAssertEqual(target.log, [0])
    }
  }

  func test_RLK_DELAY_4_targetAndBlockAreKeptUntilThenAndReleasedRightAfter() {
    final class Kept: @unchecked Sendable {
      let log: Box<[String]>
      let name: String
      init(_ name: String, _ log: Box<[String]>) { (self.name, self.log) = (name, log) }
      deinit { log.update { [name] in $0.append("\(name) is gone") } }
    }
    onThread {
      let (loop, log) = (RunLoop.current, Box<[String]>([]))
      var handles: [RunLoop.DelayedPerform] = []
      for name in ["one", "two"] {
        let (target, captured) = (Kept("target \(name)", log), Kept("block \(name)", log))
        handles.append(
          try loop.perform(after: .zero, target: target) { log.update { $0.append(captured.name) } })
      }
      XCTAssertEqual(log.value, [])
      try loop.run(for: .seconds(60))
      XCTAssertEqual(log.value.filter { !$0.hasSuffix("gone") }, ["block one", "block two"])
      // All of the first is gone before the second one runs.
      XCTAssertEqual(
        Set(log.value.prefix(3)), ["block one", "target one is gone", "block one is gone"])
      XCTAssertEqual(log.value.count, 6)
      withExtendedLifetime(handles) {}
    }
  }

  /// However it ends: the loop, which lives on, forgets it.
  func test_RLK_DELAY_4_itsLoopForgetsIt() {
    onThread {
      let (loop, target) = (RunLoop.current, Target())
      let ways: [(String, (RunLoop.DelayedPerform) throws -> Void)] = [
        ("cancelled", { XCTAssertTrue($0.cancel()) }),
        ("by another thread", { performed in TestThread { XCTAssertTrue(performed.cancel()) }.join() }),
        ("by its target", { _ in XCTAssertEqual(loop.cancelPerforms(target: target), 1) }),
        ("invalidated", { _ in for item in loop.items() { item.invalidate() } }),
        ("removed", { _ in for item in loop.items() { loop.remove(item) } }),
        ("run", { _ in XCTAssertEqual(try loop.run(), .finished) }),
      ]
      for (name, end) in ways {
        for isLocal in [false, true] {
          weak var left: RunLoop.DelayedPerform?
          do {
            let delay: Duration = name == "run" ? .zero : .seconds(1000)
            let performed = try loop.assumeOnLoop { local in
              if isLocal { return try local.perform(after: delay, target: target) {} }
              return try loop.perform(after: delay, target: target) {}
            }
            left = performed
            try end(performed)
            XCTAssertFalse(performed.isPending, name)
          }
          // Behind the callout of an item what belongs to the thread is released.
          let source = RunLoop.Source { _ in }
          source.signal()
          try loop.add(source)
          try loop.run(for: .zero)
          source.invalidate()
          XCTAssertNil(left, "\(name), local: \(isLocal)")
        }
      }
    }
  }

  func test_RLK_DELAY_5_theEndOfTheLoopReleasesAndRefuses() {
    let (loop, handle) = (Box<RunLoop?>(nil), Box<RunLoop.DelayedPerform?>(nil))
    weak var weakTarget: Target?
    do {
      let target = Target()
      weakTarget = target
      onThread {
        loop.value = RunLoop.current
        handle.value = try RunLoop.current.perform(after: .seconds(3600), in: .common, "other", target: target) {
          XCTFail("it ran")
        }
      }
      XCTAssertFalse(handle.value!.isPending)
      XCTAssertFalse(handle.value!.cancel())
      XCTAssertEqual(loop.value!.cancelPerforms(target: target), 0)
      XCTAssertThrowsError(try loop.value!.perform(after: .zero, target: target) {}) {
        XCTAssertEqual($0 as? RunLoopError, .loopEnded)
      }
    }
    XCTAssertNil(weakTarget)
    weak let weakLoop = loop.value
    loop.value = nil
    XCTAssertNil(weakLoop)
  }

  func test_RLK_DELAY_6_cancelledElsewhereItRunsOrIsCountedNeverBoth() throws {
    let thread = RunLoop.Thread(name: "delays")
    try thread.start()
    let (loop, ran, cancelled) = (thread.loop!, Box(0), Box(0))
    let callers = (0..<4).map { number in
      TestThread {
        let target = Target()
        for round in 0..<500 {
          for key in 0..<2 {
            _ = try? loop.perform(after: .microseconds((round * 3 + number) % 30), target: target, key: key) {
              ran.update { $0 += 1 }
            }
          }
          let count = loop.cancelPerforms(target: target, key: 0)
          cancelled.update { $0 += count }
        }
        let count = loop.cancelPerforms(target: target)
        cancelled.update { $0 += count }
      }
    }
    for caller in callers { caller.join() }
    try loop.performAndWait {}  // one that ran at that moment is over
    XCTAssertEqual(ran.value + cancelled.value, 4000)
    thread.stop()
    try thread.join()
    XCTAssertEqual(ran.value + cancelled.value, 4000)
  }

  func test_RLK_DELAY_7_asleepItIsWoken() throws {
    let thread = RunLoop.Thread(name: "sleeper")
    try thread.start()
    let done = Gate()
    yieldUntil(thread.loop!.isWaiting)
    try thread.loop!.perform(after: .milliseconds(1)) { done.open() }
    done.wait()
    thread.stop(.now)
    try thread.join()
  }

  func test_RLK_DELAY_9_noToleranceIsTheLoopsAndZeroIsExact() {
    onThread {
      let loop = RunLoop.current
      loop.defaultTimerTolerance = .seconds(5)
      func tolerance(_ perform: () throws -> RunLoop.DelayedPerform) throws -> Duration? {
        let performed = try perform()
        let timer = loop.items().first as? RunLoop.Timer
        performed.cancel()
        return timer?.tolerance
      }
      XCTAssertEqual(try tolerance { try loop.perform(after: .seconds(60)) {} }, .seconds(5))
      XCTAssertEqual(try tolerance { try loop.perform(after: .seconds(60), tolerance: .zero) {} }, .zero)
      XCTAssertEqual(try tolerance { try loop.perform(after: .seconds(60), tolerance: .seconds(1)) {} }, .seconds(1))
      XCTAssertEqual(
        try tolerance { try loop.perform(after: .seconds(60), tolerance: .zero, in: .default, "other") {} }, .zero)
      try loop.assumeOnLoop { local in
        XCTAssertEqual(try tolerance { try local.perform(after: .seconds(60), tolerance: .zero) {} }, .zero)
        XCTAssertEqual(try tolerance { try local.perform(after: .seconds(60)) {} }, .seconds(5))
      }
    }
  }

  /// The last mode has no descriptor left for its timers; the first one may have run the block already.
  func test_RLK_DELAY_8_anErrorMeansThatNothingRan() throws {
    CountingKernel.install()
    // Many, so that the first one has time.
    let modes = (0..<100).map { RunLoop.Mode(rawValue: "mode \($0)") }
    let thread = RunLoop.Thread(name: "modes") { loop in
      _ = try loop.perform(after: .seconds(3600), in: ["first"] + modes) {}
    }
    try thread.start()
    let loop = thread.loop!
    var asked = 0
    for round in 0..<200 {
      let (ran, hasReturned) = (Box(false), Box(false))
      // Awake, so that the first mode is quick.
      let (isOver, isPlanned, hasRun) = (Box(false), Gate(), Gate())
      try loop.perform {
        isPlanned.wait()
        XCTAssertNil(thrown { try loop.run(in: "first", for: .zero) })
        hasRun.open()
        while !isOver.value { _ = try? loop.run(in: "first", for: .zero) }
      }
      Faults.planMemory()
      isPlanned.open()
      hasRun.wait()
      let refusing = RunLoop.Mode(rawValue: "other \(round)")
      let error = thrown {
        try loop.perform(after: .zero, in: ["first"] + modes + [refusing]) {
          ran.value = true
          yieldUntil(hasReturned.value)
        }
      }
      hasReturned.value = true
      XCTAssertTrue(Faults.endMemory())
      isOver.value = true
      try loop.performAndWait {}
      XCTAssertNotEqual(ran.value, error != nil)
      if error == nil { asked += 1 }
    }
    print("run before the last mode refused it: \(asked) of 200")
    thread.stop(.now)
    try thread.join()
  }
}
