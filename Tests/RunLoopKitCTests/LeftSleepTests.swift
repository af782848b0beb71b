import CModel
import XCTest

import class RunLoopKit.LoopHosting
import class RunLoopKit.RunLoop

/// A run that sleeps in its host, and is left there.
final class LeftSleepTests: XCTestCase {
  func test_RLK_LEFT_15_aSleepThatWasLeftIsOver() throws {
    let loop = RunLoop.current
    let source = RunLoop.Source { _ in }
    try loop.add(source)
    let hosting = try LoopHosting(of: loop)
    var states = [hosting.isAsleep]
    hosting.sleep = { [unowned hosting] _, _ in
      states.append(hosting.isAsleep)
      model_leave()
      return true
    }
    XCTAssertEqual(model_run_until_left(), 1)
    states.append(hosting.isAsleep)
    XCTAssertEqual(states, [false, true, false])
    hosting.leave()
    source.invalidate()
  }
}
