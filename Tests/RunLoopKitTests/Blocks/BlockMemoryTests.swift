import CTestSupport
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class BlockMemoryTests: XCTestCase {
  func test_RLK_BLOCK_MEMORY_1_aBurstOfBlocksIsGivenBack() {
    onThread {
      let (loop, ran) = (RunLoop.current, Box(0))
      try loop.add(RunLoop.Timer.never())
      func burst(_ count: Int) throws {
        for _ in 0..<count { try loop.enqueue { ran.value += 1 } }
        try loop.run(for: .zero)
      }
      try burst(10)
      let memory = test_memory_in_use()
      try burst(200_000)
      try burst(10)
      XCTAssertEqual(ran.value, 200_020)
      XCTAssertLessThan(test_memory_in_use() - memory, 128 * 1024)
    }
  }
}
