import RunLoopKit
import XCTest

/// Adding and taking out are shown by `ItemLinksTests`.
final class OneOrManyTests: XCTestCase {
  func testEachComesToItsPlace() {
    for order in [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
      var list = OneOrMany<Int>()
      for number in order { list.insert(number) { number < $0 } }
      XCTAssertEqual(Array(list), [1, 2, 3], "\(order)")
    }
  }

  func testEachIsChangedInItsPlace() {
    for count in 0...3 {
      var list = OneOrMany<Int>()
      for number in 0..<count { list.append(number) }
      list.change { $0 += 10 }
      XCTAssertEqual(Array(list), (0..<count).map { $0 + 10 })
    }
  }
}
