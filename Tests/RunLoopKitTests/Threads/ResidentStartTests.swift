import CRunLoopCore
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

  func test_RLK_RESIDENT_41_aStopIsOverWithTheStartThatWasRefused() throws {
    guard test_may_have_threads_after_fork() == 1 else { try skipCase("a forked process may have no threads here") }
    inChild { check in
      let (thread, ran) = (RunLoop.Thread(name: "large", stackSize: 1 << 29), Box(0))
      Kernel(rlc_kernel_default().pointee, turns: StopsAtTheStart(thread)).enter()
      limitAddressSpace(leaving: 1 << 26)
      let error = systemError { try thread.start() }
      limitAddressSpace(leaving: nil)
      Kernel.leave()
      check.equal(error, EAGAIN)
      try thread.start()
      try thread.perform { ran.value += 1 }
      thread.stop()
      try thread.join()
      check.equal(ran.value, 1)
    }
  }

  /// More address space than there is. Nothing keeps what its set-up holds, by either form of the call.
  func test_RLK_RESIDENT_9_aThreadThatCannotBeMadeIsFreed() async throws {
    func refusal(of thread: RunLoop.Thread) -> RunLoopError? { thrown { try thread.start() } }
    for isAwaited in [false, true] {
      weak var held: Box<Int>?
      do {
        let token = Box(0)
        held = token
        let thread = RunLoop.Thread(name: "huge", stackSize: 1 << 52) { _ in token.value += 1 }
        for _ in 1...2 {
          if isAwaited {
            do { try await thread.start() } catch { XCTAssertEqual((error as? RunLoopError)?.call, "pthread_create") }
          } else {
            XCTAssertEqual(refusal(of: thread)?.call, "pthread_create")
          }
        }
        XCTAssertEqual(token.value, 0)
      }
      XCTAssertNil(held, "\(isAwaited)")
    }
  }

  /// The kernel stops it when the run that begins asks whether the timer's descriptor is still there.
  func test_RLK_RESIDENT_14_aStopBeforeTheFirstRunBeginsIsThatRuns() {
    onThread {
      CountingKernel.install()
      defer { CountingKernel.script = CountingKernel.Script() }
      let (log, counter) = (Box<[String]>([]), EventCounter())
      let thread = RunLoop.Thread(name: "first") { loop in
        // The mode has a descriptor. So the timer's is set before the run.
        try loop.add(RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in })
        try loop.add(RunLoop.Timer(after: .seconds(3600)) { _ in })
        try loop.add(
          RunLoop.Observer([.entry, .beforeTimers, .exit]) { _, activity in log.value.append("\(activity)") })
      }
      CountingKernel.script.control = {
        if thread.isRunning, log.value.isEmpty {
          log.value.append("stop")
          thread.loop?.stop()
        }
        return nil
      }
      try thread.start()
      XCTAssertNil(thrown { try thread.join(timeout: .seconds(30)) })
      thread.stop(.now)
      try thread.join()
      XCTAssertEqual(log.value, ["stop", "entry", "exit"])
      withExtendedLifetime(counter) {}
    }
  }

  /// As before every other run.
  func testAStopInTheSetUpStopsNothing() throws {
    let (thread, ran) = (RunLoop.Thread(name: "set up", setUp: { $0.stop() }), Box(false))
    try thread.start()
    try thread.loop!.performAndWait { ran.value = true }
    thread.stop()
    try thread.join()
    XCTAssertTrue(ran.value)
  }

  /// As that of every thread.
  func testItHasTheSignalMaskOfItsStarter() {
    for isBlocked in [true, false] {
      onThread {
        var signal = sigset_t()
        sigemptyset(&signal)
        sigaddset(&signal, SIGUSR2)
        pthread_sigmask(isBlocked ? SIG_BLOCK : SIG_UNBLOCK, &signal, nil)
        let isBlockedThere = Box<Bool?>(nil)
        @Sendable func isBlockedHere() -> Bool {
          var mask = sigset_t()
          pthread_sigmask(SIG_BLOCK, nil, &mask)
          return sigismember(&mask, SIGUSR2) == 1
        }
        let thread = RunLoop.Thread(name: "masked") { _ in isBlockedThere.value = isBlockedHere() }
        try thread.start()
        XCTAssertEqual(isBlockedThere.value, isBlocked)
        XCTAssertEqual(isBlockedHere(), isBlocked)
        thread.stop()
        try thread.join()
      }
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

/// Stops the thread after `start` has begun and before pthread_create(3) is called. The other functions are never called.
private final class StopsAtTheStart: TurnTaking, ThreadPlace {
  private let thread: RunLoop.Thread

  init(_ thread: RunLoop.Thread) { self.thread = thread }

  func threadWillStart() -> any ThreadPlace {
    thread.stop(.now)
    return self
  }

  func wait(on word: UInt, until deadline: UInt64, for purpose: String, while isUnchanged: () -> Bool) {}
  func wake(_ word: UInt) {}
  func waitUntilWritable(_ fileDescriptor: Int32, until deadline: UInt64, for purpose: String) -> Int32 { -ENOSYS }
  func choose(among count: Int) -> Int { 0 }
  func alarm(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)? { nil }

  func begin() {}
  func giveUp() {}
  func waitForLastTurn(for purpose: String) {}
}

/// Leaves this process so much room, in bytes; nil: as much as it may have.
private func limitAddressSpace(leaving room: Int?) {
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
  limit.rlim_cur = room.map { rlim_t(addressSpace() + $0) } ?? limit.rlim_max
  setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
}

/// Of this process, in bytes.
private func addressSpace() -> Int {
  guard let file = fopen("/proc/self/statm", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  fgets(&line, Int32(line.count), file)
  return strtol(line, nil, 10) * sysconf(Int32(_SC_PAGESIZE))
}
