import CRunLoopCore
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// A kernel belongs to a thread, and then to its loop (decision 0023).
final class KernelTests: XCTestCase {
  /// What one kernel was asked for, and what its clocks show more than the system's.
  private final class Calls: Sendable {
    let made = Box([String]())
    let ahead: UInt64

    init(ahead: Duration = .zero) {
      self.ahead = RunLoop.Instant(nanoseconds: 0).advanced(by: ahead).nanoseconds
    }

    func note(_ call: String) { made.update { $0.append(call) } }

    static func of(_ context: UnsafeMutableRawPointer?) -> Calls {
      Unmanaged<Calls>.fromOpaque(context!).takeUnretainedValue()
    }
  }

  /// The calls' reference lives as long as the test.
  private func makeKernel(_ calls: Calls) -> Kernel {
    var table = rlc_kernel_copy()
    table.context = Unmanaged.passUnretained(calls).toOpaque()
    table.now = { rlc_kernel_default().pointee.now(nil, $1) + Calls.of($0).ahead }
    table.epoll_create = {
      Calls.of($0).note("epoll_create")
      return rlc_kernel_default().pointee.epoll_create(nil)
    }
    table.eventfd_create = {
      Calls.of($0).note("eventfd")
      return rlc_kernel_default().pointee.eventfd_create(nil)
    }
    table.timerfd_create = {
      Calls.of($0).note("timerfd_create \($1.rawValue)")
      return rlc_kernel_default().pointee.timerfd_create(nil, $1)
    }
    table.epoll_wait = {
      Calls.of($0).note("epoll_wait")
      // Dates are as far ahead as the clock.
      let deadline = $4 == 0 || $4 == .max ? $4 : $4 - Calls.of($0).ahead
      return rlc_kernel_default().pointee.epoll_wait(nil, $1, $2, $3, deadline)
    }
    table.timerfd_set = {
      rlc_kernel_default().pointee.timerfd_set(nil, $1, $2 == .max ? .max : $2 - Calls.of($0).ahead)
    }
    return Kernel(table)
  }

  /// A loop with a kernel, on a thread of the kit that this thread starts.
  private func makeThread(_ kernel: Kernel) throws -> (RunLoop.Thread, RunLoop) {
    let outer = Kernel.current
    kernel.enter()
    let thread = RunLoop.Thread(name: "scripted")
    try thread.start()
    if let outer { outer.enter() } else { Kernel.leave() }
    return (thread, try XCTUnwrap(thread.loop))
  }

  func test_RLK_KERNEL_1_aLoopKeepsTheKernelOfTheThreadThatMakesIt() throws {
    let calls = Calls()
    let kernel = makeKernel(calls)
    onThread { [self] in
      Kernel.leave()  // what the test's own thread has
      let (thread, loop) = try makeThread(kernel)
      XCTAssertEqual(calls.made.value.filter { $0 != "epoll_wait" }, ["eventfd", "epoll_create"])
      calls.made.value = []
      // By a thread with the system's: what the loop needs for it is of its own kernel.
      XCTAssertNil(Kernel.current)
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in }, to: "other")
      try loop.add(RunLoop.Timer(fireDate: RunLoop.WallInstant.distantFuture) { _ in }, to: "other")
      XCTAssertEqual(calls.made.value.filter { $0.hasPrefix("timerfd") }, ["timerfd_create 0", "timerfd_create 2"])
      calls.made.value = []
      try RunLoop.current.add(RunLoop.Timer(fireDate: .now) { _ in })
      XCTAssertEqual(try RunLoop.current.run(), .finished)
      thread.stop()
      try thread.join()
      XCTAssertEqual(calls.made.value.filter { $0 != "epoll_wait" }, [])
    }
  }

  func test_RLK_KERNEL_2_aThreadOfTheKitHasThatOfTheThreadThatStartsIt() throws {
    let calls = Calls()
    let kernel = makeKernel(calls)
    onThread { [self] in
      Kernel.leave()  // what the test's own thread has
      let (thread, loop) = try makeThread(kernel)
      let second = Box<RunLoop.Thread?>(nil)
      try loop.performAndWait {
        XCTAssertIdentical(Kernel.current, kernel)
        let inner = RunLoop.Thread(name: "inner") { _ in XCTAssertIdentical(Kernel.current, kernel) }
        XCTAssertNil(thrown { try inner.start() })
        second.value = inner
      }
      let real = RunLoop.Thread(name: "real") { _ in XCTAssertNil(Kernel.current) }
      try real.start()
      for thread in [thread, real] + [second.value].compactMap({ $0 }) {
        thread.stop()
        try thread.join()
      }
    }
  }

  func test_RLK_KERNEL_3_whatAThreadHasEnteredEndsWithItOrBefore() {
    weak var left: Kernel?
    weak var ended: Kernel?
    onThread { [self] in
      Kernel.leave()  // what the test's own thread has
      let (calls, other) = (Calls(), Calls())
      withExtendedLifetime(calls) {
        autoreleased { makeKernel(calls).enter() }
        left = Kernel.current
        XCTAssertNotNil(left)
        Kernel.leave()
        XCTAssertNil(Kernel.current)
        XCTAssertNil(left)
      }
      withExtendedLifetime(other) {
        autoreleased { makeKernel(other).enter() }
        ended = Kernel.current
      }
    }
    XCTAssertNil(ended)
  }

  private func autoreleased(_ body: () -> Void) { body() }

  /// Each thread sees its own clock; a call on another one's loop goes by the loop's.
  func test_RLK_KERNEL_4_theClockIsTheLoopsWhoeverAsks() throws {
    let calls = Calls(ahead: .seconds(1_000_000))
    let kernel = makeKernel(calls)
    onThread { [self] in
      Kernel.leave()  // what the test's own thread has
      let before = RunLoop.Instant.now
      let (thread, loop) = try makeThread(kernel)
      let there = try loop.performAndWait { RunLoop.Instant.now }
      let after = RunLoop.Instant.now
      let ahead = Duration.seconds(1_000_000)
      XCTAssertTrue(before.advanced(by: ahead) <= there && there <= after.advanced(by: ahead))
      let fired = Box<RunLoop.Instant?>(nil)
      let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in
        fired.value = .now
        thread.stop()
      }
      try loop.add(timer)
      timer.rearm(after: .milliseconds(1))
      let date = try XCTUnwrap(timer.fireDate)
      XCTAssertTrue(there.advanced(by: .milliseconds(1)) <= date)
      try thread.join()
      XCTAssertTrue(try date <= XCTUnwrap(fired.value))
      XCTAssertTrue(try XCTUnwrap(fired.value) <= RunLoop.Instant.now.advanced(by: ahead))
    }
  }

  /// The thread that forks is the child's main thread, and the parent's is not there.
  func test_RLK_KERNEL_6_theMainThreadsIsNotThatOfAChildOfAnotherThread() throws {
    XCTAssertIdentical(RunLoop.current, RunLoop.main, "tests run on the main thread")
    let (before, calls) = (Kernel.current, Calls())
    let kernel = makeKernel(calls)
    kernel.enter()
    defer {
      Kernel.leave()
      before?.enter()
    }
    onThread {
      Kernel.leave()  // what the test's own thread has
      inChild { checks in
        checks.that(RunLoop.current === RunLoop.main)
        checks.that(RunLoop.current.kernel == nil)
      }
    }
  }

  /// Sleeps on a semaphore, as virtual time does on a condition.
  private final class Turns: TurnTaking, @unchecked Sendable {
    let waits = Box([UInt]())
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
      sem_destroy(semaphore)
      semaphore.deallocate()
    }

    func wait(on word: UInt, until deadline: UInt64, for purpose: String, while isUnchanged: () -> Bool) {
      waits.update { $0.append(word) }
      if isUnchanged() { while sem_wait(semaphore) != 0 {} }
    }

    func wake(_ word: UInt) {
      if waits.value.contains(word) { sem_post(semaphore) }
    }

    func waitUntilWritable(_ fileDescriptor: Int32, until deadline: UInt64, for purpose: String) -> Int32 { -ENOSYS }

    func choose(among count: Int) -> Int { 0 }

    func alarm(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)? { nil }

    func threadWillStart() -> any ThreadPlace { fatalError("no thread is started here") }
  }

  func test_RLK_KERNEL_5_whoeverChangesWhatAThreadWaitsForWakesIt() throws {
    let thread = RunLoop.Thread(name: "real")
    onThread {
      Kernel.leave()
      try thread.start()
      let (loop, turns) = (try XCTUnwrap(thread.loop), Turns())
      let waiter = TestThread {
        Kernel(rlc_kernel_default().pointee, turns: turns).enter()
        XCTAssertNil(thrown { try loop.performAndWait { yieldUntil(!turns.waits.value.isEmpty) } })
      }
      waiter.join()
      XCTAssertGreaterThan(turns.waits.value.count, 0)
      thread.stop()
      try thread.join()
    }
  }
}
