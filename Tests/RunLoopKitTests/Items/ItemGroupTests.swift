import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class ItemGroupTests: XCTestCase {
  /// A source that notes that it has left its mode, hence that it was invalidated.
  private func source(_ name: String, _ left: Box<[String]>) -> RunLoop.Source {
    var hooks = RunLoop.Source.Hooks()
    hooks.cancel = { _, _ in left.update { $0.append(name) } }
    return RunLoop.Source(hooks: hooks) { _ in }
  }

  func test_RLK_GROUP_1_membersAreInvalidatedTogetherInTheirOrder() {
    onThread {
      let (loop, left, group) = (RunLoop.current, Box<[String]>([]), RunLoop.ItemGroup())
      let names = (0..<40).map { "\($0)" }
      for name in names { try loop.add(group.add(self.source(name, left)), to: "m") }
      let timer = group.add(try loop.timer(after: .seconds(1000)) { _ in })
      let link = group.add(try loop.displayLink { _, _ in })
      let commit = group.add(try loop.commit(at: .afterReady) {})
      let other = try loop.timer(after: .seconds(1000)) { _ in }
      XCTAssertTrue(group.isValid && timer.isValid && link.isValid && commit.isValid)
      XCTAssertEqual(left.value, [])
      group.invalidate()
      XCTAssertEqual(left.value, names)
      XCTAssertFalse(group.isValid || timer.isValid || link.isValid || commit.isValid)
      XCTAssertEqual(loop.items(in: .default), [other])
      group.invalidate()
      XCTAssertEqual(left.value, names)
    }
  }

  func test_RLK_GROUP_2_theLastReferenceInvalidatesThem() {
    onThread {
      let (loop, left) = (RunLoop.current, Box<[String]>([]))
      let held = Box<RunLoop.ItemGroup?>(RunLoop.ItemGroup())
      let source = try XCTUnwrap(held.value).add(self.source("a", left))
      try loop.add(source)
      XCTAssertTrue(source.isValid)
      TestThread { held.value = nil }.join()
      XCTAssertFalse(source.isValid)
      XCTAssertEqual(left.value, ["a"])
      XCTAssertTrue(loop.isEmpty(in: .default))
    }
  }

  func test_RLK_GROUP_3_aGroupThatIsOverTakesNothing() {
    onThread {
      let (loop, left, group) = (RunLoop.current, Box<[String]>([]), RunLoop.ItemGroup())
      group.invalidate()
      let source = self.source("late", left)
      try loop.add(source)
      XCTAssertTrue(group.add(source) === source)
      XCTAssertFalse(source.isValid || group.isValid)
      XCTAssertEqual(left.value, ["late"])
      XCTAssertFalse(group.add(try loop.displayLink { _, _ in }).isValid)
      XCTAssertFalse(group.add(try loop.commit {}).isValid)
      XCTAssertEqual(loop.items(in: .default), [])
    }
  }

  /// The callout ends as any other; what its closure holds goes after it.
  func test_RLK_GROUP_4_aMemberInvalidatesItsGroup() {
    onThread {
      let (loop, gone, log) = (RunLoop.current, Box(0), Box<[String]>([]))
      weak var weakGroup: RunLoop.ItemGroup?
      do {
        let (group, token) = (RunLoop.ItemGroup(), Token { gone.value += 1 })
        weakGroup = group
        let later = group.add(RunLoop.Source { _ in log.update { $0.append("never") } })
        try loop.add(later, to: "later")
        group.add(
          try loop.timer(after: .zero, interval: .seconds(1)) { timer in
            group.invalidate()
            log.update { $0 += ["timer \(timer.isValid) \(later.isValid) \(group.isValid) \(gone.value)"] }
            group.invalidate()
            withExtendedLifetime(token) {}
          })
      }
      XCTAssertEqual(try loop.run(for: .seconds(60)), .finished)
      XCTAssertEqual(log.value, ["timer false false false 0"])
      XCTAssertEqual(gone.value, 1)
      XCTAssertNil(weakGroup)
    }
  }

  /// Hooks and releases are called without a lock: they may use the group.
  func test_RLK_GROUP_4_whatAnInvalidationCallsUsesTheGroup() {
    onThread {
      let (loop, group, log) = (RunLoop.current, RunLoop.ItemGroup(), Box<[String]>([]))
      let last = self.source("last", log)
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { [unowned group] _, _ in
        group.invalidate()
        XCTAssertTrue(last.isValid)
        XCTAssertFalse(group.add(RunLoop.Source { _ in }).isValid)
        log.update { $0.append("hook") }
      }
      try loop.add(group.add(RunLoop.Source(hooks: hooks) { _ in }))
      let isValid: @Sendable () -> Bool? = { [weak group] in group?.isValid }
      group.add(
        try loop.source { [token = Token { log.update { $0.append("gone \(isValid() == false)") } }] _ in
          withExtendedLifetime(token) {}
        })
      try loop.add(group.add(last))
      group.invalidate()
      XCTAssertEqual(log.value, ["hook", "gone true", "last"])
      XCTAssertFalse(last.isValid)
    }
  }

  func test_RLK_GROUP_4_manyThreadsAddAndOneInvalidates() {
    let (group, made, loop) = (RunLoop.ItemGroup(), Box<[RunLoop.Item]>([]), RunLoop.main)
    let mode: RunLoop.Mode = "groups"
    let threads = (0..<4).map { number in
      TestThread {
        for _ in 0..<200 {
          guard let item = try? group.add(loop.source(in: mode) { _ in }) else { return XCTFail("no source") }
          made.update { $0.append(item) }
          if number == 0, made.value.count > 300 { group.invalidate() }
        }
      }
    }
    for thread in threads { thread.join() }
    group.invalidate()
    XCTAssertEqual(made.value.count, 800)
    XCTAssertFalse(made.value.contains { $0.isValid })
    XCTAssertEqual(loop.items(in: mode), [])
  }

  /// A group may last as long as the program, and get an item for each request.
  func test_RLK_GROUP_5_membersThatAreOverAreDropped() {
    let (group, gone) = (RunLoop.ItemGroup(), Box(0))
    let kept = group.add(RunLoop.Source { _ in })
    for _ in 0..<1000 {
      var hooks = RunLoop.Source.Hooks()
      hooks.context = Token { gone.value += 1 }
      group.add(RunLoop.Source(hooks: hooks) { _ in }).invalidate()
    }
    XCTAssertGreaterThan(gone.value, 950)
    XCTAssertTrue(kept.isValid)
    group.invalidate()
    XCTAssertFalse(kept.isValid)
  }

  /// All that are valid stay, however many they are.
  func test_RLK_GROUP_5_membersThatAreValidStay() {
    let group = RunLoop.ItemGroup()
    let items = (0..<1000).map { _ in group.add(RunLoop.Source { _ in }) }
    for item in items[..<500] { item.invalidate() }
    let others = (0..<1000).map { _ in group.add(RunLoop.Source { _ in }) }
    XCTAssertFalse((items[500...] + others).contains { !$0.isValid })
    group.invalidate()
    XCTAssertFalse((items + others).contains { $0.isValid })
  }

  func test_RLK_GROUP_6_aChildOfForkLeavesTheParentsItemsAlone() {
    onThread {
      let (loop, group) = (RunLoop.current, RunLoop.ItemGroup())
      let timer = group.add(try loop.timer(after: .seconds(1000)) { _ in })
      let child = test_fork()
      if child == 0 {
        group.invalidate()
        group.add(timer)
        _exit(group.isValid ? 1 : 0)
      }
      var status: Int32 = -1
      while waitpid(child, &status, 0) < 0 {}
      XCTAssertEqual(status, 0)
      XCTAssertTrue(group.isValid && timer.isValid && loop.contains(timer))
      group.invalidate()
      XCTAssertFalse(timer.isValid)
    }
  }
}
