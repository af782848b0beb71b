import RunLoopKit
import RunLoopPorts
import XCTest

/// Who brings a port messages is in a table of the port. When thousands of connections end at once, each leaves it.
final class IdentityTableTests: XCTestCase {
  /// Counts how often one is compared or hashed.
  private final class Element: Hashable {
    nonisolated(unsafe) static var looks = 0

    static func == (a: Element, b: Element) -> Bool {
      looks += 1
      return a === b
    }

    func hash(into hasher: inout Hasher) {
      Element.looks += 1
      hasher.combine(ObjectIdentifier(self))
    }
  }

  /// Looks that it takes to put `count` elements in, and to take them out in an order.
  private func looks(_ count: Int, _ order: (Int) -> Int) -> (entering: Int, leaving: Int) {
    let elements = (0..<count).map { _ in Element() }
    var table = IdentityTable<Element>()
    Element.looks = 0
    for element in elements { _ = table.insert(element) }
    let entering = Element.looks
    XCTAssertEqual(table.all.count, count)
    Element.looks = 0
    for index in 0..<count { _ = table.remove(elements[order(index)]) }
    let leaving = Element.looks
    XCTAssertTrue(table.all.isEmpty)
    return (entering, leaving)
  }

  /// A search of the list would take a quarter of the count each time: 250 and 1,000 looks. A table takes some, however many
  /// there are: hashes of the element and of the one that takes its place, and comparisons where hashes meet.
  func test_RLK_PEER_36_theEndOfThousandsOfConnections_takesAsLongForEach() {
    for count in [1000, 4000] {
      // As they came, the last first, and mixed: 7 has no divisor in common with either count.
      for order in [{ $0 }, { count - 1 - $0 }, { $0 * 7 % count }] as [(Int) -> Int] {
        let (entering, leaving) = looks(count, order)
        XCTAssertLessThan(entering, 12 * count)
        XCTAssertLessThan(leaving, 20 * count)
      }
    }
  }

  func test_RLK_PEER_36_eachIsThereOnce() {
    var table = IdentityTable<Int>()
    for element in 0..<20 { XCTAssertTrue(table.insert(element)) }
    for element in 0..<20 { XCTAssertFalse(table.insert(element)) }
    XCTAssertNil(table.remove(20))
    for element in [0, 19, 7, 8] {
      XCTAssertEqual(table.remove(element), element)
      XCTAssertNil(table.remove(element))
    }
    XCTAssertEqual(table.all.sorted(), [1, 2, 3, 4, 5, 6] + Array(9...18))
    for element in 9...18 { XCTAssertEqual(table.remove(element), element) }
    for element in 1...6 { XCTAssertFalse(table.insert(element)) }
    XCTAssertTrue(table.insert(0))
    XCTAssertEqual(table.all.sorted(), Array(0...6))
  }
}
