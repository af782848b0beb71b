import CModel
import XCTest

import class RunLoopKit.RunLoop

/// A host's call that an observer has left, and what that has put into its scope.
final class LeftScopeTests: XCTestCase {
  func test_RLK_SCOPE_2_aHostsCallThatWasLeftEndsItsScope() throws {
    let loop = RunLoop.current
    while try loop.prepareToWait() { _ = try loop.runPendingWork() }  // what other tests have left in it
    try loop.cancelWait()
    nonisolated(unsafe) var ended = 0
    let observer = RunLoop.Observer(.beforeWaiting) { _, _ in
      RunLoop.Scope.deferred { ended += 1 }
      model_leave()
    }
    try loop.add(observer)
    XCTAssertEqual(model_prepare_until_left(), 1)
    XCTAssertEqual(ended, 0)
    observer.invalidate()
    XCTAssertFalse(try loop.prepareToWait())
    XCTAssertEqual(ended, 1)
    try loop.cancelWait()
  }
}
