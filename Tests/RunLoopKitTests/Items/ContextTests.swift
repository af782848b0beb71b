import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Contexts are retained and released in balance, the last time exactly once.
final class ContextTests: XCTestCase {
  private func counted(_ balance: Box<Int>, _ releases: Box<Int>) -> RunLoop.Context {
    var context = RunLoop.Context(info: UnsafeMutableRawPointer(bitPattern: 8))
    context.retain = { info in
      balance.update { $0 += 1 }
      return info
    }
    context.release = { _ in
      balance.update { $0 -= 1 }
      releases.update { $0 += 1 }
    }
    return context
  }

  func test_RLK_LIFE_1_observersAndTimersReleaseWhenInvalidated() {
    let (balance, releases) = (Box(0), Box(0))
    let observer = RunLoop.Observer(.all, context: counted(balance, releases)) { _, _ in }
    let timer = RunLoop.Timer(fireDate: RunLoop.Instant.now, context: counted(balance, releases)) { _ in }
    XCTAssertEqual(balance.value, 2)
    for _ in 0..<3 {
      observer.invalidate()
      timer.invalidate()
    }
    XCTAssertEqual(balance.value, 0)
    XCTAssertEqual(releases.value, 2)
  }

  func test_RLK_LIFE_2_sourcesReleaseWhenDestroyed() {
    let (balance, releases) = (Box(0), Box(0))
    do {
      let source = RunLoop.Source(context: counted(balance, releases)) { _ in }
      source.invalidate()
      XCTAssertEqual(balance.value, 1)
    }
    XCTAssertEqual(balance.value, 0)
    XCTAssertEqual(releases.value, 1)
  }

  func test_RLK_LIFE_6_theContextOfASourceIsKeptUntilThatIsDestroyed() {
    final class Token: Sendable {}
    weak var token: Token?
    func make() -> RunLoop.Source {
      let made = Token()
      token = made
      var hooks = RunLoop.Source.Hooks()
      hooks.context = made
      return RunLoop.Source(hooks: hooks) { _ in }
    }
    onThread {
      do {
        let source = make()
        try RunLoop.current.add(source)
        source.invalidate()
        XCTAssertNotNil(token)
        withExtendedLifetime(source) {}
      }
      XCTAssertNil(token)
    }
  }

  /// No lock is held then: the words may ask the loop.
  func test_RLK_TEXT_6_theWordsOfASourcesContextAreInDescriptions() {
    struct Words: Sendable, CustomStringConvertible {
      let loop: RunLoop
      var description: String { "of \(loop.modes.count) modes" }
    }
    onThread {
      let loop = RunLoop.current
      var hooks = RunLoop.Source.Hooks()
      hooks.context = Words(loop: loop)
      let source = RunLoop.Source(order: 3, hooks: hooks) { _ in }
      try loop.add(source, to: .common)
      XCTAssertEqual(source.description, "<source order 3, valid, context of 1 modes>")
      XCTAssertTrue(loop.description.contains("valid, context of 1 modes>"))
      source.invalidate()
      XCTAssertEqual(source.description, "<source order 3, invalid, context of 1 modes>")
    }
  }

  func test_RLK_LIFE_3_aTimerIsRetainedAroundEachCallout() {
    let (balance, releases, during) = (Box(0), Box(0), Box<[Int]>([]))
    onThread {
      let loop = RunLoop.current
      let timer = RunLoop.Timer(
        fireDate: RunLoop.Instant.now, interval: .nanoseconds(1), context: self.counted(balance, releases)
      ) {
        timer in
        during.update { $0.append(balance.value) }
        if during.value.count == 3 { timer.invalidate() }
      }
      try loop.add(timer)
      while timer.isValid { try loop.run(for: .zero) }
    }
    XCTAssertEqual(during.value, [2, 2, 2])
    XCTAssertEqual(balance.value, 0)
    XCTAssertEqual(releases.value, 4)
  }

  func test_RLK_LIFE_4_theEndOfAThreadReleasesWhatItsLoopHeld() {
    let (balance, releases) = (Box(0), Box(0))
    let loop = Box<RunLoop?>(nil)
    final class Token: Sendable {}
    weak var token: Token?
    onThread {
      loop.value = RunLoop.current
      try RunLoop.current.add(RunLoop.Observer(.all, context: self.counted(balance, releases)) { _, _ in })
      try RunLoop.current.add(RunLoop.Source(context: self.counted(balance, releases)) { _ in }, to: .common)
      try RunLoop.current.add(
        RunLoop.Timer(fireDate: RunLoop.Instant.now, context: self.counted(balance, releases)) { _ in })
      let made = Token()
      token = made
      try RunLoop.current.enqueue { withExtendedLifetime(made) {} }
    }
    XCTAssertEqual(balance.value, 0)
    XCTAssertEqual(releases.value, 3)
    XCTAssertNil(token)
    XCTAssertEqual(loop.value?.hasEnded, true)
    XCTAssertThrowsError(try loop.value?.perform {}) { XCTAssertEqual($0 as? RunLoopError, .loopEnded) }
    XCTAssertThrowsError(try loop.value?.add(RunLoop.Timer.never())) { XCTAssertEqual($0 as? RunLoopError, .loopEnded) }
    loop.value?.wakeUp()
    loop.value?.stop()
    XCTAssertEqual(loop.value?.modes, [])
  }

  func test_RLK_LIFE_5_releaseMayCallTheLoop() {
    onThread {
      let loop = RunLoop.current
      let ran = Box(false)
      var context = RunLoop.Context()
      context.release = { _ in
        try? loop.enqueue { ran.value = true }
        _ = try? loop.run(for: .zero)
      }
      do {
        let source = RunLoop.Source(context: context) { source in _ = loop.remove(source) }
        try loop.add(source)
        source.signal()
      }
      try loop.add(RunLoop.Timer.never())
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertTrue(ran.value)
    }
  }

  func test_RLK_TEXT_6_aReleasedContextIsNotDescribed() {
    let (balance, releases, asked) = (Box(0), Box(0), Box(0))
    var context = counted(balance, releases)
    context.description = { _ in
      asked.value += 1
      return "of \(balance.value)"
    }
    let timer = RunLoop.Timer(fireDate: RunLoop.Instant.now, context: context) { _ in }
    XCTAssertTrue(timer.description.hasSuffix(", context of 1>"), timer.description)
    timer.invalidate()
    XCTAssertFalse(timer.description.contains("context"), timer.description)
    XCTAssertEqual(asked.value, 1)
    XCTAssertEqual(releases.value, 1)
  }
}
