import CTestSupport
import Glibc
import RunLoopKit
import XCTest

final class ProcessWideTests: XCTestCase {
  private final class Table: ProcessWideObject {
    private let lock = Lock()
    var forkGeneration: UInt32 { lock.forkGeneration }
  }

  private final class Holder: Sendable {
    let table = ProcessWide<Table>()
  }

  func testItIsMadeOnceAndKept() {
    let holder = Holder()
    XCTAssertNil(holder.table.existing)
    let first = holder.table.current(Table.init)
    XCTAssertIdentical(holder.table.current(Table.init), first)
    XCTAssertIdentical(holder.table.existing, first)
  }

  /// Each makes one when it finds none; all but one are released.
  func testThreadsThatComeFirstGetTheSameOne() {
    for _ in 0..<100 {
      let (holder, found, gate) = (Holder(), Box([Table]()), Box(0))
      let threads = (0..<3).map { _ in
        TestThread {
          gate.update { $0 += 1 }
          yieldUntil(gate.value == 3)
          let table = holder.table.current(Table.init)
          found.update { $0.append(table) }
        }
      }
      for thread in threads { thread.join() }
      XCTAssertEqual(found.value.count, 3)
      XCTAssertTrue(found.value.allSatisfy { $0 === holder.table.existing })
    }
  }

  /// The inherited one may be locked by a thread that the child does not have.
  func testAChildMakesItsOwn() {
    let holder = Holder()
    let inherited = holder.table.current(Table.init)
    let child = test_fork()
    if child == 0 {
      let isGone = holder.table.existing == nil
      let own = holder.table.current(Table.init)
      _exit(isGone && own !== inherited && holder.table.current(Table.init) === own ? 0 : 1)
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 {}
    XCTAssertEqual(status, 0)
    XCTAssertIdentical(holder.table.existing, inherited)
  }
}
