import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

private final class Log: Sendable {
  private let lines = Box<[String]>([])
  var taken: String {
    lines.update { lines in
      defer { lines = [] }
      return lines.joined(separator: " ")
    }
  }
  func note(_ line: String) { lines.update { $0.append(line) } }
}

private func queue(_ names: String, in mode: RunLoop.Mode, _ loop: RunLoop, _ log: Log) throws {
  for name in names.split(separator: " ") { try loop.enqueue(in: mode) { log.note(String(name)) } }
}

/// A pass of the mode, with a block of its own: what a drain does.
private func drain(_ mode: RunLoop.Mode, _ loop: RunLoop) throws {
  try loop.enqueue(in: mode) {}
  try loop.run(in: mode, for: .zero)
}

/// Blocks that drains of other modes have passed by.
final class WaitingBlockTests: XCTestCase {
  func test_RLK_BLOCKS_1_theyRunInTheOrderOfQueueing() {
    onThread {
      let (loop, log) = (RunLoop.current, Log())
      try queue("a1 a2", in: "a", loop, log)
      try queue("b1", in: "b", loop, log)
      try drain(.default, loop)
      try queue("b2", in: "b", loop, log)
      try queue("a3", in: "a", loop, log)
      try drain(.default, loop)
      try queue("a4", in: "a", loop, log)
      XCTAssertEqual(log.taken, "")
      try loop.run(in: "a", for: .zero)
      XCTAssertEqual(log.taken, "a1 a2 a3 a4")
      XCTAssertEqual(try loop.run(in: "a", for: .zero), .finished)
      XCTAssertFalse(loop.isEmpty(in: "b"))
      try loop.run(in: "b", for: .zero)
      XCTAssertEqual(log.taken, "b1 b2")
      XCTAssertTrue(loop.isEmpty(in: "b"))
    }
  }

  func test_RLK_BLOCKS_1_thoseOfTheCommonModesAreAmongThem() {
    onThread {
      let (loop, log) = (RunLoop.current, Log())
      loop.addCommonMode("a")
      try queue("a1", in: "a", loop, log)
      try queue("c1", in: .common, loop, log)
      try queue("a2", in: "a", loop, log)
      try drain("b", loop)
      try queue("b1", in: "b", loop, log)
      try queue("c2", in: .common, loop, log)
      try drain("b", loop)
      XCTAssertEqual(log.taken, "b1")
      try loop.run(in: "a", for: .zero)
      XCTAssertEqual(log.taken, "a1 c1 a2 c2")
      XCTAssertTrue(loop.isEmpty(in: .default))
    }
  }

  /// Rule 47: whether a mode is common counts at each block's turn.
  func test_RLK_BLOCKS_1_aBlockThatMakesTheModeCommonLetsTheLaterOnesRun() {
    onThread {
      let (loop, log) = (RunLoop.current, Log())
      try queue("c1", in: .common, loop, log)
      try loop.enqueue(in: "a") { loop.addCommonMode("a") }
      try queue("c2", in: .common, loop, log)
      try queue("a1", in: "a", loop, log)
      try drain("b", loop)
      // Two drains: at steps (d) and (m).
      let seen = RunLoop.Observer(.beforeSources) { _, _ in log.note("|") }
      let after = RunLoop.Source { _ in log.note("source") }
      try loop.add(seen, to: "a")
      try loop.add(after, to: "a")
      after.signal()
      try loop.run(in: "a", for: .zero, returnAfterSourceHandled: true)
      XCTAssertEqual(log.taken, "| c2 a1 source c1")
    }
  }

  func test_RLK_BLOCKS_2_oneOfSeveralModesRunsOnce() {
    onThread {
      let (loop, log) = (RunLoop.current, Log())
      for number in 0..<100 {
        try loop.enqueue(in: "a", "b", number % 2 == 0 ? "c" : "a") { log.note("\(number)") }
      }
      try queue("b", in: "b", loop, log)
      try drain(.default, loop)
      try loop.run(in: "c", for: .zero)
      XCTAssertEqual(log.taken, (0..<50).map { "\($0 * 2)" }.joined(separator: " "))
      XCTAssertTrue(loop.isEmpty(in: "c"))
      try loop.run(in: "b", for: .zero)
      XCTAssertEqual(log.taken, (0..<50).map { "\($0 * 2 + 1)" }.joined(separator: " ") + " b")
      XCTAssertTrue(loop.isEmpty(in: "a") && loop.isEmpty(in: "b"))
    }
  }

  /// By each call that takes several modes: it keeps them all, and the first that runs has it.
  func test_RLK_BLOCKS_2_eachCallNamesAllItsModes() {
    for post in Self.posts {
      for mode in Self.modes {
        onThread {
          let (loop, ran) = (RunLoop.current, Box(0))
          try post.queue(loop) { ran.value += 1 }
          XCTAssertEqual(Self.modes.filter { loop.isEmpty(in: $0) }, [], post.name)
          for name in [mode] + Self.modes { _ = try loop.run(in: name, for: .zero) }
          XCTAssertEqual(ran.value, 1, "\(post.name) in \(mode)")
          XCTAssertEqual(Self.modes.filter { !loop.isEmpty(in: $0) }, [], post.name)
        }
      }
    }
  }

  private typealias Post = (name: String, queue: @Sendable (RunLoop, @escaping @Sendable () -> Void) throws -> Void)

  private static let modes: [RunLoop.Mode] = ["a", "b", "c", "d"]

  private static let posts: [Post] = [
    ("enqueue", { loop, block in try loop.enqueue(in: "a", "b", "c", "d", block: block) }),
    ("perform", { loop, block in try loop.perform(in: "a", "b", "c", "d", block: block) }),
    ("perform or drop", { loop, block in try loop.perform(in: "a", "b", "c", "d", block: block, onDrop: {}) }),
    ("as a source", { loop, block in try loop.performAsSource(in: "a", "b", "c", "d", block: block) }),
    ("after a delay", { loop, block in _ = try loop.perform(after: .zero, in: "a", "b", "c", "d", block: block) }),
    (
      "and wait",
      { loop, block in
        TestThread { try? loop.performAndWait(in: "a", "b", "c", "d", block: block) }.detach()
        yieldUntil(!loop.isEmpty(in: "a"))
      }
    ),
    (
      "in a task",
      { loop, block in
        Task.detached { try? await loop.performAndWait(in: "a", "b", "c", "d", block: block) }
        yieldUntil(!loop.isEmpty(in: "a"))
      }
    ),
    ("enqueue in a list", { loop, block in try loop.enqueue(in: modes, block: block) }),
    ("perform in a list", { loop, block in try loop.perform(in: modes, block: block) }),
    ("perform or drop in a list", { loop, block in try loop.perform(in: modes, block: block, onDrop: {}) }),
    ("as a source in a list", { loop, block in try loop.performAsSource(in: modes, block: block) }),
    ("after a delay in a list", { loop, block in _ = try loop.perform(after: .zero, in: modes, block: block) }),
    (
      "and wait in a list",
      { loop, block in
        TestThread { try? loop.performAndWait(in: modes, block: block) }.detach()
        yieldUntil(!loop.isEmpty(in: "a"))
      }
    ),
    (
      "in a task in a list",
      { loop, block in
        Task.detached { try? await loop.performAndWait(in: modes, block: block) }
        yieldUntil(!loop.isEmpty(in: "a"))
      }
    ),
  ]

  /// Rule 48.
  func test_RLK_BLOCKS_3_aRunInsideABlockSeesOnlyWhatIsQueuedThen() {
    onThread {
      let (loop, log) = (RunLoop.current, Log())
      try queue("early", in: "inner", loop, log)
      try drain(.default, loop)
      try loop.enqueue {
        log.note("(")
        XCTAssertEqual(try? loop.run(in: "inner", for: .zero), .finished)
        try? queue("new", in: "inner", loop, log)
        try? queue("other", in: "third", loop, log)
        XCTAssertEqual(try? loop.run(in: "inner", for: .zero), .timedOut)
        try? queue("middle", in: "inner", loop, log)
        XCTAssertEqual(try? loop.run(in: "third", for: .zero), .timedOut)
        log.note(")")
      }
      try queue("rest", in: "inner", loop, log)
      try loop.run(for: .zero)
      XCTAssertEqual(log.taken, "( new other )")
      try queue("late", in: "inner", loop, log)
      try loop.run(in: "inner", for: .zero)
      XCTAssertEqual(log.taken, "early rest middle late")
      XCTAssertTrue(loop.isEmpty(in: "inner") && loop.isEmpty(in: "third"))
    }
  }

  /// Whenever the time is over: while the block waits, or while a drain has it.
  func test_RLK_BLOCKS_4_withdrawnOnesAreGone() {
    onThread {
      let (loop, ran) = (RunLoop.current, Box(0))
      func waiter() -> (TestThread, Box<Bool>) {
        let isOver = Box(false)
        let thread = TestThread {
          let error = thrown { try loop.performAndWait(in: "other", timeout: .milliseconds(30)) { ran.value += 1 } }
          XCTAssertEqual(error, .timedOut)
          isOver.value = true
        }
        yieldUntil(isOver.value || !loop.isEmpty(in: "other"))
        return (thread, isOver)
      }
      let (first, isOver) = waiter()
      while !isOver.value { try drain(.default, loop) }
      first.join()
      XCTAssertTrue(loop.isEmpty(in: "other"))
      for isNested in [false, true] {
        let (next, _) = waiter()
        try drain(.default, loop)
        try loop.enqueue {
          next.join()
          guard isNested else { return }
          // A drain of its own, which puts back another block.
          try? loop.enqueue(in: "third") {}
          try? drain("inner", loop)
        }
        try loop.run(for: .zero)
        XCTAssertTrue(loop.isEmpty(in: "other"), "nested: \(isNested)")
      }
      try loop.run(in: "other", for: .zero)
      XCTAssertEqual(ran.value, 0)
    }
  }

  func test_RLK_BLOCKS_5_theEndOfTheLoopReleasesThemInOrder() {
    let log = Log()
    onThread {
      let loop = RunLoop.current
      func post(_ name: String, _ mode: RunLoop.Mode) throws {
        try loop.perform(in: mode) {
        } onDrop: {
          log.note(name)
        }
      }
      for (name, mode) in [("1", "a"), ("2", "b"), ("3", "a")] as [(String, RunLoop.Mode)] { try post(name, mode) }
      try drain(.default, loop)
      try post("4", "b")
    }
    XCTAssertEqual(log.taken, "1 2 3 4")
  }

  /// By the processor's time of this thread: a hundred times as many that wait for another mode cost no more.
  func test_RLK_BLOCKS_6_aPassCostsTheSameWhateverWaitsForOtherModes() {
    func cost(of passes: Int, in loop: RunLoop) throws -> Double {
      let left = Box(passes)
      @Sendable func again() {
        left.value -= 1
        if left.value > 0 { try? loop.enqueue(block: again) }
      }
      try loop.enqueue(block: again)
      let start = Self.processorTime
      while left.value > 0 { try loop.run(for: .zero) }
      return (Self.processorTime - start) / Double(passes)
    }
    onThread {
      let loop = RunLoop.current
      func wait(_ count: Int) throws {
        for _ in 0..<count { try loop.enqueue(in: "other") {} }
        try loop.enqueue(in: "other", "third") {}
        _ = try cost(of: 10, in: loop)
      }
      try wait(200)
      let few = try min(cost(of: 1000, in: loop), cost(of: 1000, in: loop))
      try wait(20_000)
      XCTAssertLessThan(try cost(of: 1000, in: loop), 4 * few)
    }
  }

  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
