import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What an item is for is kept until the item is destroyed; what its closure holds, until it is invalid.
final class ContextTests: XCTestCase {
  private final class Token: Sendable {
    private let ends: Box<Int>
    init(_ ends: Box<Int>) { self.ends = ends }
    deinit { ends.update { $0 += 1 } }
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

  func test_RLK_LIFE_4_theEndOfAThreadReleasesWhatItsLoopHeld() {
    let ends = Box(0)
    let loop = Box<RunLoop?>(nil)
    onThread {
      loop.value = RunLoop.current
      let (observed, context, fired, queued) = (Token(ends), Token(ends), Token(ends), Token(ends))
      try RunLoop.current.add(RunLoop.Observer(.all) { _, _ in withExtendedLifetime(observed) {} })
      var hooks = RunLoop.Source.Hooks()
      hooks.context = context
      try RunLoop.current.add(RunLoop.Source(hooks: hooks) { _ in }, to: .common)
      try RunLoop.current.add(RunLoop.Timer(fireDate: .now) { _ in withExtendedLifetime(fired) {} })
      try RunLoop.current.enqueue { withExtendedLifetime(queued) {} }
    }
    XCTAssertEqual(ends.value, 4)
    XCTAssertEqual(loop.value?.hasEnded, true)
    XCTAssertThrowsError(try loop.value?.perform {}) { XCTAssertEqual($0 as? RunLoopError, .loopEnded) }
    XCTAssertThrowsError(try loop.value?.add(RunLoop.Timer.never())) { XCTAssertEqual($0 as? RunLoopError, .loopEnded) }
    loop.value?.wakeUp()
    loop.value?.stop()
    XCTAssertEqual(loop.value?.modes, [])
  }

  func test_RLK_LIFE_5_theEndOfAContextMayCallTheLoop() {
    final class Calling: Sendable {
      let action: @Sendable () -> Void
      init(_ action: @escaping @Sendable () -> Void) { self.action = action }
      deinit { action() }
    }
    onThread {
      let loop = RunLoop.current
      let ran = Box(false)
      do {
        var hooks = RunLoop.Source.Hooks()
        hooks.context = Calling {
          try? loop.enqueue { ran.value = true }
          _ = try? loop.run(for: .zero)
        }
        let source = RunLoop.Source(hooks: hooks) { source in _ = loop.remove(source) }
        try loop.add(source)
        source.signal()
      }
      try loop.add(RunLoop.Timer.never())
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertTrue(ran.value)
    }
  }
}
