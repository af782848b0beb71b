import RunLoopKit
import XCTest

final class RowTests: XCTestCase {
  private final class Element: @unchecked Sendable {
    let number: Int
    private let left: Box<Int>

    init(_ number: Int, _ left: Box<Int>) {
      self.number = number
      self.left = left
      left.update { $0 += 1 }
    }

    deinit { left.update { $0 -= 1 } }
  }

  func testFirstInFirstOut() {
    var row = Row<Int>()
    XCTAssertTrue(row.isEmpty)
    XCTAssertNil(row.takeFirst())
    for number in 0..<100 { row.append(number) }
    XCTAssertEqual(row.count, 100)
    for number in 0..<100 {
      XCTAssertEqual(row[0], number)
      XCTAssertEqual(row[99 - number], 99)
      XCTAssertEqual(row.takeFirst(), number)
    }
    XCTAssertTrue(row.isEmpty)
    XCTAssertNil(row.takeFirst())
  }

  /// Against an array, by all lengths that it can have within its first memory and the next ones.
  func testItIsAnArrayWhoseStartIsCheap() {
    for most in 1...20 {
      var row = Row<Int>()
      var (array, next) = ([Int](), 0)
      for step in 0..<200 {
        if array.count < most && step % 3 != 2 {
          row.append(next)
          array.append(next)
          next += 1
        } else {
          XCTAssertEqual(row.takeFirst(), array.isEmpty ? nil : array.removeFirst())
        }
        XCTAssertEqual(row.count, array.count)
        XCTAssertEqual((0..<row.count).map { row[$0] }, array)
      }
    }
  }

  func testRemovalFromWhereverItIs() {
    for place in 0..<5 {
      var row = Row<Int>()
      for number in -1..<5 { row.append(number) }
      XCTAssertEqual(row.takeFirst(), -1)
      XCTAssertNil(row.remove { $0 == 7 })
      XCTAssertEqual(row.remove { $0 >= place }, place)
      XCTAssertEqual((0..<row.count).map { row[$0] }, (0..<5).filter { $0 != place })
    }
  }

  /// A row that is never empty keeps its memory, however many come and go.
  func testItGrowsWithWhatIsInItOnly() {
    var row = Row<Int>()
    for number in 0..<3 { row.append(number) }
    for number in 3..<10_000 {
      row.append(number)
      XCTAssertEqual(row.takeFirst(), number - 3)
    }
    XCTAssertLessThanOrEqual(row.capacity, 8)
  }

  func testWhatABurstHasNeededIsGivenBack() {
    var row = Row<Int>()
    for number in 0..<1024 { row.append(number) }
    while row.takeFirst() != nil {}
    row.trim()
    XCTAssertEqual(row.capacity, 1024)
    for number in 0..<1025 { row.append(number) }
    XCTAssertEqual(row.capacity, 2048)
    while row.count > 1 { _ = row.takeFirst() }
    row.trim()  // not while there is something left
    XCTAssertEqual(row.takeFirst(), 1024)
    row.trim()
    XCTAssertEqual(row.capacity, 2048)  // for the next burst
    row.append(1)
    XCTAssertEqual(row.takeFirst(), 1)
    row.trim()
    XCTAssertEqual(row.capacity, 0)
    row.append(2)
    XCTAssertEqual(row.takeFirst(), 2)
  }

  func testMoreThanALimitIsGivenBackAtOnce() {
    var row = Row<Int>()
    for number in 0..<8192 { row.append(number) }
    while row.takeFirst() != nil {}
    row.trim()
    XCTAssertEqual(row.capacity, 8192)
    for number in 0..<8193 { row.append(number) }
    while row.takeFirst() != nil {}
    row.trim()
    XCTAssertEqual(row.capacity, 0)
  }

  func testEachElementIsReleasedOnce() {
    let left = Box(0)
    do {
      var row = Row<Element>()
      for number in 0..<10 { row.append(Element(number, left)) }
      XCTAssertEqual(row.takeFirst()?.number, 0)
      XCTAssertEqual(left.value, 9)
      XCTAssertEqual(row.remove { $0.number == 5 }?.number, 5)
      XCTAssertEqual(left.value, 8)
      for number in 10..<20 { row.append(Element(number, left)) }
      XCTAssertEqual(left.value, 18)
    }
    XCTAssertEqual(left.value, 0)
  }
}
