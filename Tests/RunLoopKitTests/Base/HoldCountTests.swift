import RunLoopKit
import Synchronization
import XCTest

final class HoldCountTests: XCTestCase {
  private final class Held: @unchecked Sendable {
    let holds = HoldCount()
    let ends = Atomic<Int>(0)

    func note(_ isLast: Bool) {
      if isLast { ends.add(1, ordering: .sequentiallyConsistent) }
    }
  }

  func testItEndsWithItsOwnerIfNobodyElseHoldsIt() {
    let holds = HoldCount()
    XCTAssertTrue(holds.giveUp())
    XCTAssertFalse(holds.giveUp())
    XCTAssertFalse(holds.hold())
  }

  func testItEndsWithTheLastOfThoseWhoHoldIt() {
    let holds = HoldCount()
    XCTAssertTrue(holds.hold())
    XCTAssertTrue(holds.hold())
    XCTAssertFalse(holds.giveUp())
    XCTAssertFalse(holds.giveUp())  // others' holds are not its to end
    XCTAssertTrue(holds.hold())  // not over yet
    XCTAssertFalse(holds.release())
    XCTAssertFalse(holds.release())
    XCTAssertTrue(holds.release())
    XCTAssertFalse(holds.hold())
    XCTAssertFalse(holds.giveUp())
  }

  /// Whoever comes too late is refused; and the end comes once, behind all who were not.
  func testThreadsThatHoldItWhileItsOwnerGivesUp() {
    for _ in 0..<200 {
      let held = Held()
      let users = (0..<3).map { _ in
        TestThread {
          while held.holds.hold() {
            XCTAssertEqual(held.ends.load(ordering: .sequentiallyConsistent), 0)
            held.note(held.holds.release())
          }
        }
      }
      held.note(held.holds.giveUp())
      for user in users { user.join() }
      XCTAssertEqual(held.ends.load(ordering: .sequentiallyConsistent), 1)
    }
  }
}
