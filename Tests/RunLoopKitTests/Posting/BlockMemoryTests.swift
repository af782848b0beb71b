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

  /// Of a mode in which one block waits for ever, while others of it run in another mode.
  func test_RLK_BLOCKS_7_blocksThatAnotherModeHasRunLeaveNothing() {
    onThread {
      let (loop, ran) = (RunLoop.current, Box(0))
      for mode: RunLoop.Mode in [.default, "a"] { try loop.add(RunLoop.Timer.never(), to: mode) }
      try loop.enqueue(in: "rare") { ran.value = -1 }
      func come(_ rounds: Int) throws {
        for _ in 0..<rounds {
          for _ in 0..<100 { try loop.enqueue(in: "a", "rare") { ran.value += 1 } }
          try loop.enqueue {}
          try loop.run(for: .zero)
          try loop.run(in: "a", for: .zero)
        }
      }
      try come(10)
      let memory = test_memory_in_use()
      try come(200)
      XCTAssertEqual(ran.value, 21_000)
      XCTAssertLessThan(test_memory_in_use() - memory, 128 * 1024)
    }
  }
}
