import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Sources whose equality is more than identity are found by their hash.
final class IdentityTests: XCTestCase {
  private final class Counts: @unchecked Sendable {
    let (compared, hashed) = (Box(0), Box(0))

    /// Comparisons and hashes since the last time.
    var taken: [Int] {
      [compared, hashed].map { box in
        box.update { count in
          defer { count = 0 }
          return count
        }
      }
    }
  }

  private struct Name: Hashable, Sendable {
    let number: Int
    let counts: Counts
    let hash: Int

    static func == (a: Name, b: Name) -> Bool {
      a.counts.compared.update { $0 += 1 }
      return a.number == b.number
    }
    func hash(into hasher: inout Hasher) {
      counts.hashed.update { $0 += 1 }
      hasher.combine(hash)
    }
  }

  private func source(_ number: Int, _ counts: Counts, hash: Int? = nil, order: Int = 0) -> RunLoop.Source {
    var hooks = RunLoop.Source.Hooks()
    hooks.identity = Name(number: number, counts: counts, hash: hash ?? number)
    return RunLoop.Source(order: order, hooks: hooks) { _ in }
  }

  func test_RLK_ADD_13_oneMoreCostsTheSameAmongManyOthers() {
    for count in [10, 4000] {
      onThread {
        let (loop, counts) = (RunLoop.current, Counts())
        let sources = (0..<count).map { self.source($0, counts) }
        XCTAssertEqual(counts.taken, [0, 0])
        for source in sources { XCTAssertTrue(try loop.add(source)) }
        XCTAssertEqual(counts.taken, [0, count])
        // Asked for once: by that one it is found again.
        for source in sources { XCTAssertTrue(loop.contains(source)) }
        for source in sources { XCTAssertTrue(try loop.add(source, to: .common)) }
        loop.addCommonMode("other")
        for source in sources { XCTAssertTrue(loop.remove(source, from: .common)) }
        XCTAssertEqual(counts.taken, [0, 0])
        XCTAssertTrue(loop.isEmpty(in: .default) && loop.isEmpty(in: "other"))
        for source in sources.dropFirst() { XCTAssertTrue(try loop.add(source)) }
        XCTAssertFalse(loop.contains(self.source(0, counts)))
        XCTAssertTrue(loop.contains(self.source(1, counts)))
        // Compared with the one source of their hash, whether it is a member or not.
        XCTAssertEqual(counts.taken, [2, 2])
        sources[1].invalidate()
        withExtendedLifetime(sources) { XCTAssertFalse(loop.contains(self.source(1, counts))) }
        XCTAssertEqual(counts.taken, [1, 1])
      }
    }
  }

  func test_RLK_ADD_13_collidingHashesAreCompared() {
    onThread {
      let (loop, counts) = (RunLoop.current, Counts())
      let sources = (0..<5).map { self.source($0, counts, hash: 7) }
      for source in sources { XCTAssertTrue(try loop.add(source)) }
      XCTAssertEqual(counts.taken, [10, 5])
      XCTAssertFalse(try loop.add(self.source(3, counts, hash: 7)))
      XCTAssertFalse(try loop.add(self.source(3, counts, hash: 7), to: .default))
      XCTAssertTrue(try loop.add(self.source(3, counts, hash: 7, order: 1)))
      XCTAssertTrue(loop.remove(self.source(3, counts, hash: 7)))
      XCTAssertFalse(loop.contains(sources[3]))
      XCTAssertTrue(try loop.add(sources[3]))
    }
  }

  /// A source is found in the record, and in modes that an equal one is not in.
  func test_RLK_ADD_13_eachPlaceCounts() {
    onThread {
      let (loop, counts) = (RunLoop.current, Counts())
      let (first, second) = (self.source(1, counts), self.source(1, counts))
      XCTAssertTrue(try loop.add(first, to: "a"))
      XCTAssertTrue(try loop.add(second, to: "b"))
      XCTAssertTrue(try loop.add(first, to: .common))
      XCTAssertFalse(try loop.add(second, to: .common))
      XCTAssertTrue(loop.remove(first, from: "a"))
      XCTAssertTrue(loop.contains(second))
      XCTAssertTrue(loop.contains(second, in: .common))
      XCTAssertTrue(loop.remove(first))
      XCTAssertTrue(loop.contains(second, in: .common))
      XCTAssertFalse(loop.contains(second))
      first.invalidate()
      XCTAssertFalse(loop.contains(second, in: .common))
      XCTAssertTrue(loop.contains(self.source(1, counts), in: "b"))
      XCTAssertTrue(try loop.add(second, to: .common))
      second.invalidate()
      XCTAssertFalse(loop.contains(self.source(1, counts), in: "b"))
    }
  }

  /// Here it comes while the first one is compared with a third.
  func test_RLK_ADD_12_anEqualSourceThatComesMeanwhileIsFound() {
    struct Name: Hashable, Sendable {
      let name: String
      let whenCompared: Box<(@Sendable () -> Void)?>
      static func == (a: Name, b: Name) -> Bool {
        whenCompared(a.whenCompared)
        return a.name == b.name
      }
      private static func whenCompared(_ box: Box<(@Sendable () -> Void)?>) {
        let action = box.value
        box.value = nil
        action?()
      }
      func hash(into hasher: inout Hasher) { hasher.combine(0) }
    }
    onThread {
      let loop = RunLoop.current
      let whenCompared = Box<(@Sendable () -> Void)?>(nil)
      func source(_ name: String) -> RunLoop.Source {
        var hooks = RunLoop.Source.Hooks()
        hooks.identity = Name(name: name, whenCompared: whenCompared)
        return RunLoop.Source(hooks: hooks) { _ in }
      }
      let (other, first, second) = (source("b"), source("a"), source("a"))
      XCTAssertTrue(try loop.add(other))
      whenCompared.value = { XCTAssertEqual(try? loop.add(second), true) }
      XCTAssertFalse(try loop.add(first))
      XCTAssertEqual(loop.items().map(ObjectIdentifier.init), [other, second].map(ObjectIdentifier.init))
    }
  }

  func test_RLK_ADD_12_thoseThatStayEqualTheNextOne() {
    onThread {
      let (loop, counts) = (RunLoop.current, Counts())
      var first: RunLoop.Source? = self.source(1, counts)
      let second = self.source(1, counts)
      XCTAssertTrue(try loop.add(first!, to: "one"))
      XCTAssertTrue(try loop.add(second, to: "two"))
      XCTAssertTrue(loop.remove(first!, from: "one"))
      first = nil
      XCTAssertTrue(loop.contains(self.source(1, counts), in: "two"))
      XCTAssertFalse(loop.contains(self.source(1, counts), in: "one"))
    }
  }

  /// Each that is added is compared with one of them, and none of them is looked at.
  func test_RLK_ADD_13_oneMoreCostsTheSameAmongManyEqualOnes() {
    onThread {
      let (loop, counts) = (RunLoop.current, Counts())
      let sources = (0..<2000).map { _ in self.source(1, counts) }
      for (index, source) in sources.enumerated() { XCTAssertEqual(try loop.add(source), index == 0) }
      XCTAssertEqual(counts.taken, [1999, 2000])
    }
  }

  /// What it holds, too: also while an equal one stays.
  func test_RLK_LEAK_2_anIdentityGoesWithItsSource() {
    final class Token: Hashable, Sendable {
      static func == (a: Token, b: Token) -> Bool { true }
      func hash(into hasher: inout Hasher) {}
    }
    func source(_ token: Token) -> RunLoop.Source {
      var hooks = RunLoop.Source.Hooks()
      hooks.identity = token
      return RunLoop.Source(hooks: hooks) { _ in }
    }
    onThread {
      let loop = RunLoop.current
      for isFirstDropped in [true, false] {
        weak var dropped: Token?
        func addAndDrop(_ isMember: Bool) throws {
          let token = Token()
          dropped = token
          let made = source(token)
          XCTAssertEqual(try loop.add(made), isMember)
          XCTAssertTrue(loop.remove(made))
        }
        let kept = source(Token())
        if isFirstDropped {
          try addAndDrop(true)
          XCTAssertTrue(try loop.add(kept))
        } else {
          XCTAssertTrue(try loop.add(kept))
          try addAndDrop(false)  // it has removed the other one
          XCTAssertTrue(try loop.add(kept))
        }
        XCTAssertNil(dropped)
        XCTAssertTrue(loop.contains(source(Token())))
        kept.invalidate()
      }
    }
  }

  /// No lock is held when the loop asks for the hash: here both ask the loop.
  func test_RLK_ADD_13_theHashMayUseTheLoop() {
    struct Asking: Hashable, Sendable {
      let loop: RunLoop
      static func == (a: Asking, b: Asking) -> Bool { a.loop.modes == b.loop.modes }
      func hash(into hasher: inout Hasher) { hasher.combine(loop.hasEnded || loop.items(in: "none").isEmpty) }
    }
    onThread {
      let loop = RunLoop.current
      func source() -> RunLoop.Source {
        var hooks = RunLoop.Source.Hooks()
        hooks.identity = Asking(loop: loop)
        return RunLoop.Source(hooks: hooks) { _ in }
      }
      let first = source()
      XCTAssertFalse(loop.contains(source()))
      XCTAssertTrue(try loop.add(first))
      XCTAssertFalse(try loop.add(source()))
      XCTAssertTrue(try loop.add(source(), to: .common))
      loop.addCommonMode("other")
      XCTAssertTrue(loop.contains(source(), in: "other"))
      XCTAssertTrue(loop.remove(source(), from: .common))
      first.invalidate()
    }
  }
}
