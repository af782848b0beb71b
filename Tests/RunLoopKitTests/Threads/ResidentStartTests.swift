import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What a resident thread is started with, and starts that the system refuses.
final class ResidentStartTests: XCTestCase {
  /// Calls a closure when a thread is about to be made. Its threads run as they are.
  private final class Starts: TurnTaking, ThreadPlace, @unchecked Sendable {
    private let atStart: @Sendable () -> Void

    init(_ atStart: @escaping @Sendable () -> Void) { self.atStart = atStart }

    func threadWillStart() -> any ThreadPlace {
      atStart()
      return self
    }

    func wait(on word: UInt, until deadline: UInt64, for purpose: String, while isUnchanged: () -> Bool) {
      if isUnchanged() { sched_yield() }
    }
    func wake(_ word: UInt) {}
    func waitUntilWritable(_ fileDescriptor: Int32, until deadline: UInt64, for purpose: String) -> Int32 { 1 }
    func choose(among count: Int) -> Int { 0 }
    func alarm(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)? { nil }
    func begin() {}
    func giveUp() {}
    func waitForLastTurn(for purpose: String) {}
  }

  /// The stop that comes while the system refuses the thread is not one for the next start.
  func test_RLK_RESIDENT_41_aStopOfAStartThatFailsIsOverWithIt() {
    for ending: RunLoop.Thread.Ending in [.now, .afterDueWork] {
      onThread {
        let (thread, starts, ran) = (RunLoop.Thread(name: "refused", stackSize: 1 << 28), Box(0), Box(0))
        let kernel = Kernel(
          rlc_kernel_copy(),
          turns: Starts { [weak thread] in
            starts.value += 1
            guard starts.value == 1 else { return }
            thread?.stop(ending)
            limitAddressSpace(to: addressSpace() + 1 << 26)
          })
        kernel.enter()
        defer { Kernel.leave() }
        XCTAssertEqual(thrown { try thread.start() }, .system(EAGAIN))
        limitAddressSpace(to: nil)
        try thread.start()
        XCTAssertNil(thrown { try thread.perform { ran.value += 1 } })
        thread.stop(.afterDueWork)
        try thread.join()
        XCTAssertEqual(ran.value, 1)
      }
    }
  }

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

/// Nil: as much as may be.
private func limitAddressSpace(to bytes: Int?) {
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
  limit.rlim_cur = bytes.map { rlim_t($0) } ?? limit.rlim_max
  precondition(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
}
