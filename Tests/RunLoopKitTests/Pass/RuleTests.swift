import Dispatch
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Rules 17 and 18, each by an event: what does not hold ends a run by its limit.
final class RuleTests: XCTestCase {
  /// The wake is taken by a run that was begun in the entry of another one, which so is owed it, and ends without having
  /// waited: it is the outermost one's.
  func test_RLK_RULE_17_aRunThatDidNotWaitPassesOnWhatItIsOwed() {
    onThread {
      let loop = RunLoop.current
      for mode: RunLoop.Mode in [.default, "middle", "inner"] { try loop.add(RunLoop.Timer.never(), to: mode) }
      let results = Box<[RunLoop.RunResult?]>([])
      try loop.add(
        RunLoop.Observer(.entry) { _, _ in
          loop.wakeUp()
          let result = try? loop.run(in: "inner", for: .zero)
          results.update { $0.append(result) }
          loop.stop()  // the middle one's: before its first pass
        }, to: "middle")
      try loop.add(
        RunLoop.Observer(.beforeSources, repeats: false) { _, _ in
          let result = try? loop.run(in: "middle", for: .seconds(10))
          results.update { $0.append(result) }
        })
      try loop.add(RunLoop.Observer(.afterWaiting) { _, _ in loop.stop() })
      XCTAssertEqual(try loop.run(for: .seconds(10)), .stopped)
      XCTAssertEqual(results.value, [.timedOut, .stopped])
    }
  }

  /// The main loop's: a pass of the nested run goes to the main queue directly, without a wait that could take the wake, and is
  /// its last.
  func test_RLK_RULE_17_whatAStoppedRunHasKeptIsTheOuterOnes() throws {
    let (loop, inner, passes) = (RunLoop.main, Box<RunLoop.RunResult?>(nil), Box(0))
    let source = RunLoop.Source { _ in }
    let items = [
      source,
      RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in
        source.signal()  // for a pass in which the queue is not served
        inner.value = try? loop.run(for: .seconds(10))
      },
      RunLoop.Observer(.beforeSources) { _, _ in
        passes.value += 1
        guard passes.value == 3 else { return }  // the outer one's first, and the inner one's second
        DispatchQueue.main.async { loop.stop() }
        loop.wakeUp()
      },
      RunLoop.Observer(.afterWaiting) { _, _ in if inner.value != nil { loop.stop() } },
    ]
    for item in items { try loop.add(item) }
    defer { for item in items { item.invalidate() } }
    XCTAssertEqual(try loop.run(for: .seconds(10)), .stopped)
    XCTAssertEqual(inner.value, .stopped)
    XCTAssertEqual(passes.value, 3)
  }

  func test_RLK_RULE_18_aDateThatAnotherThreadChangesIsAPass() {
    onThread {
      let loop = RunLoop.current
      let timer = RunLoop.Timer(fireDate: .now.advanced(by: .seconds(1000))) { _ in }
      try loop.add(timer)
      try loop.add(RunLoop.Observer(.afterWaiting) { _, _ in loop.stop() })
      let other = TestThread {
        yieldUntil(loop.isWaiting)
        timer.fireDate = .now.advanced(by: .seconds(2000))
      }
      XCTAssertEqual(try loop.run(for: .seconds(10)), .stopped)
      other.join()
    }
  }
}
