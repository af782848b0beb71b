import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What a resident thread is started with, and what it leaves.
final class ResidentStartTests: XCTestCase {
  /// This program has many thread-local variables.
  func test_RLK_RESIDENT_42_theStackIsBesideTheThreadLocalVariables() throws {
    for size in [1 << 18, 1 << 20] {
      let left = Box(0)
      let thread = RunLoop.Thread(name: "stack", stackSize: size) { _ in left.value = test_stack_left() }
      try thread.start()
      thread.stop()
      try thread.join()
      XCTAssertGreaterThan(left.value, size - Int(test_thread_local_size()) / 2)
    }
  }

  /// Whether it still works then, or has ended: nobody will wait for it.
  func test_RLK_RESIDENT_40_aThreadThatNobodyWaitsForLeavesNoStack() throws {
    let (count, stack) = (16, 1 << 28)
    for hasEnded in [false, true] {
      let before = addressSpace()
      for _ in 0..<count {
        let thread = RunLoop.Thread(name: "abandoned", stackSize: stack)
        try thread.start()
        guard hasEnded else { continue }
        thread.stop(.now)
        yieldUntil(!thread.isRunning)
      }
      // The system frees a stack some time after the end of its thread.
      yieldUntil(addressSpace() - before < count / 4 * stack)
    }
  }
}

/// Of this process, in bytes.
private func addressSpace() -> Int {
  guard let file = fopen("/proc/self/statm", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  fgets(&line, Int32(line.count), file)
  return strtol(line, nil, 10) * sysconf(Int32(_SC_PAGESIZE))
}
