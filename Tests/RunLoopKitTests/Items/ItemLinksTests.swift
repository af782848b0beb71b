import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class ItemLinksTests: XCTestCase {
  private let loops = (0..<3).map { _ -> RunLoop in
    let loop = Box<RunLoop?>(nil)
    onThread { loop.value = RunLoop.current }
    return loop.value!
  }
  /// Places of modes: their addresses are all that counts here.
  private let modes = (1...3).map { ModePointer(address: UnsafeMutableRawPointer(bitPattern: $0 * 64)!) }

  private func links(_ tokens: [UInt64]) -> ItemLinks {
    var links = ItemLinks()
    for token in tokens { links.append(link(token)) }
    return links
  }

  /// In the loop and the mode that its token's digits number.
  private func link(_ token: UInt64) -> ItemLink {
    ItemLink(loop: loops[Int(token / 10)], mode: modes[Int(token % 10)], token: token)
  }

  func testTheyAreInTheOrderOfAdding() {
    for tokens: [UInt64] in [[], [1], [0, 11, 22, 1]] {
      let links = links(tokens)
      XCTAssertEqual(links.map(\.token), tokens)
      XCTAssertEqual(links.hasOthers, tokens.count > 1)
      var visited: [UInt64] = []
      links.forEach { visited.append($0.token) }
      XCTAssertEqual(visited, tokens)
      XCTAssertEqual(links.first?.token, tokens.first)
    }
  }

  func testOneIsTakenOutFromWhereverItIs() {
    for (removed, left): (UInt64, [UInt64]) in [(0, [11, 22]), (11, [0, 22]), (22, [0, 11])] {
      var links = links([0, 11, 22])
      XCTAssertEqual(links.remove { $0.token == removed }?.token, removed)
      XCTAssertEqual(links.map(\.token), left)
      XCTAssertNil(links.remove { $0.token == removed })
      XCTAssertEqual(links.remove { _ in true }?.token, left[0])
      XCTAssertEqual(links.map(\.token), [left[1]])
      XCTAssertFalse(links.hasOthers)
      XCTAssertEqual(links.remove { _ in true }?.token, left[1])
      XCTAssertNil(links.first)
      XCTAssertNil(links.remove { _ in true })
    }
  }

  func testTheLinksOfALoopAreTakenOutTogether() {
    var links = links([1, 11, 2, 20])
    XCTAssertEqual(links.removeAll(of: loops[0]).map(\.token), [1, 2])
    XCTAssertEqual(links.map(\.token), [11, 20])
    XCTAssertEqual(links.removeAll(of: loops[0]).map(\.token), [])
    XCTAssertEqual(links.map(\.token), [11, 20])
  }

  /// A member that was removed and added again is another one.
  func testAMemberIsKnownByModeAndToken() {
    let links = links([0, 11, 22])
    XCTAssertTrue(
      links.contains(0, in: modes[0]) && links.contains(11, in: modes[1]) && links.contains(22, in: modes[2]))
    XCTAssertFalse(
      links.contains(1, in: modes[0]) || links.contains(11, in: modes[2]) || links.contains(12, in: modes[2]))
    XCTAssertFalse(ItemLinks().contains(0, in: modes[0]))
  }

  func testTheOnlyOneOfALoop() {
    XCTAssertEqual(links([11]).only(of: loops[1])?.token, 11)
    XCTAssertEqual(links([11]).only(of: loops[1])?.mode, modes[1])
    XCTAssertNil(links([11]).only(of: loops[0]))
    XCTAssertNil(links([11, 20]).only(of: loops[1]))
    XCTAssertNil(ItemLinks().only(of: loops[1]))
    // The record of common items is no mode.
    XCTAssertNil(ItemLinks(first: ItemLink(loop: loops[1], mode: nil, token: 1)).only(of: loops[1]))
  }

  func testTheOtherLoopsEachOnce() {
    XCTAssertTrue(links([]).otherLoops.isEmpty && links([0]).otherLoops.isEmpty && links([0, 1]).otherLoops.isEmpty)
    let others = links([0, 11, 1, 12, 20]).otherLoops
    XCTAssertEqual(others.map(ObjectIdentifier.init), [loops[1], loops[2]].map(ObjectIdentifier.init))
    XCTAssertEqual(links([0, 11, 1, 12, 20]).loops.map(ObjectIdentifier.init), loops.map(ObjectIdentifier.init))
    XCTAssertTrue(links([]).loops.isEmpty)
  }
}
