import CTestSupport
import Glibc
import RunLoopKit
import XCTest

final class LockTests: XCTestCase {
  private final class Guarded: @unchecked Sendable {
    let lock = Lock()
    var count = 0
  }

  func testOneThreadAtATimeIsInside() {
    let (guarded, threads, rounds) = (Guarded(), 4, 20_000)
    let adders = (0..<threads).map { _ in
      TestThread { for _ in 0..<rounds { guarded.lock.withLock { guarded.count += 1 } } }
    }
    for adder in adders { adder.join() }
    XCTAssertEqual(guarded.count, threads * rounds)
  }

  /// It spins for a moment, then sleeps in the kernel, and the holder's unlock wakes it.
  func testAThreadThatFindsItHeldSleepsUntilItIsFree() {
    let (guarded, thread) = (Guarded(), Box(""))
    guarded.lock.lock()
    let waiter = TestThread {
      thread.value = ownThread()
      guarded.lock.withLock { guarded.count += 1 }
    }
    yieldUntil(thread.value != "" && isAsleep(thread.value))
    XCTAssertEqual(guarded.count, 0)
    guarded.lock.unlock()
    waiter.join()
    XCTAssertEqual(guarded.count, 1)
  }

  /// Each unlock wakes one: nobody of many sleepers is forgotten.
  func testAllWhoSleepGetIt() {
    let (guarded, names) = (Guarded(), Box([String]()))
    guarded.lock.lock()
    let waiters = (0..<8).map { _ in
      TestThread {
        names.update { $0.append(ownThread()) }
        guarded.lock.withLock { guarded.count += 1 }
      }
    }
    yieldUntil(names.value.count == 8 && names.value.allSatisfy(isAsleep))
    guarded.lock.unlock()
    for waiter in waiters { waiter.join() }
    XCTAssertEqual(guarded.count, 8)
  }

  func testAnErrorLeavesItFree() {
    struct Thrown: Error {}
    let guarded = Guarded()
    XCTAssertThrowsError(try guarded.lock.withLock { throw Thrown() })
    guarded.lock.withLock { guarded.count += 1 }
    XCTAssertEqual(guarded.count, 1)
  }

  /// The thread that held it is not in the child.
  func testInAChildOfForkNobodyWaitsForIt() {
    let (guarded, isHeld, leave) = (Guarded(), Gate(), Gate())
    let holder = TestThread {
      guarded.lock.lock()
      isHeld.open()
      leave.wait()
      guarded.lock.unlock()
    }
    isHeld.wait()
    inChild { $0.that(guarded.lock.withLock { true }) }
    leave.open()
    holder.join()
  }
}
