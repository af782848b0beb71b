import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class HeldLoopTests: XCTestCase {
  func testAnotherThreadsLoopStaysAsLongAsItIsHeld() {
    let (loop, isMade, mayEnd) = (Box<RunLoop?>(nil), Gate(), Gate())
    weak var weakLoop: RunLoop?
    let thread = TestThread {
      loop.value = .current
      isMade.open()
      mayEnd.wait()
    }
    isMade.wait()
    weakLoop = loop.value
    do {
      let held = loop.value.map { HeldLoop(.passUnretained($0)) }
      loop.value = nil
      mayEnd.open()
      thread.join()
      XCTAssertNotNil(weakLoop)
      _ = consume held
    }
    XCTAssertNil(weakLoop)
  }

  /// Its thread holds it: a reference too many would keep it for ever.
  func testTheCallersOwnLoopGoesWithItsThread() {
    let weakLoop = Box(Weak())
    onThread {
      weakLoop.value.loop = .current
      let loop = RunLoop.current
      _ = HeldLoop(.passUnretained(loop))
    }
    XCTAssertNil(weakLoop.value.loop)
  }

  private struct Weak {
    weak var loop: RunLoop?
  }
}
