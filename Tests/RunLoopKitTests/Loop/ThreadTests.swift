import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class ThreadTests: XCTestCase {
  func test_RLK_THREAD_1_oneLoopAThreadMadeOnFirstUse() {
    XCTAssertTrue(RunLoop.current === RunLoop.main)
    XCTAssertTrue(RunLoop.current.isMain)
    onThread {
      XCTAssertTrue(RunLoop.current === RunLoop.current)
      XCTAssertFalse(RunLoop.current === RunLoop.main)
      XCTAssertTrue(RunLoop.current.isCurrent)
      XCTAssertFalse(RunLoop.main.isCurrent)
    }
  }

  func test_RLK_THREAD_2_tenThousandLoopsLeaveNothing() {
    func wave(_ count: Int) {
      let threads = (0..<count).map { _ in
        TestThread {
          let loop = RunLoop.current
          _ = try? loop.add(RunLoop.Timer.never())
          let source = RunLoop.Source { _ in loop.stop() }
          _ = try? loop.add(source, to: .common)
          source.signal()
          XCTAssertEqual(try? loop.run(for: .seconds(60)), .stopped)
        }
      }
      for thread in threads { thread.join() }
    }
    wave(100)
    let descriptors = openDescriptors()
    for _ in 0..<2 { wave(500) }
    let memory = test_memory_in_use()
    for _ in 0..<(isSlow ? 3 : 18) { wave(500) }
    XCTAssertEqual(openDescriptors(), descriptors)
    XCTAssertLessThan(test_memory_in_use() - memory, 256 * 1024)
  }

  /// Figures, idle and delayed blocks, sources that count as one, clocks, many modes, tasks, requests, a host's wait.
  func test_RLK_THREAD_2_whatFewLoopsHaveGoesWithThem() {
    func use(_ loop: RunLoop) throws {
      loop.collectsStatistics = true
      loop.reportSlowCallouts(longerThan: .seconds(600)) { _ in }
      var hooks = RunLoop.Source.Hooks()
      hooks.identity = "equal"
      try loop.add(RunLoop.Source(hooks: hooks) { _ in }, to: .common)
      try loop.performWhenIdle {}
      try loop.perform(after: .seconds(600), target: loop) {}
      for clock in RunLoop.TimerClock.allCases { try loop.add(RunLoop.Timer(after: .seconds(600), on: clock) { _ in }) }
      for number in 0..<20 { try loop.enqueue(in: RunLoop.Mode("mode \(number)")) {} }
      let port = Port(replying: { _, message in message })
      try loop.add(port)
      XCTAssertEqual(try port.sendRight.request(Message(id: 1)).id, 1)
      try loop.run {}
      RunLoop.Scope.deferred {}
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      _ = try loop.prepareToWait()
    }
    func wave(_ count: Int) { for _ in 0..<count { onThread { try use(.current) } } }
    wave(200)
    let (descriptors, memory) = (openDescriptors(), test_memory_in_use())
    wave(1000)
    XCTAssertEqual(openDescriptors(), descriptors)
    XCTAssertLessThan(test_memory_in_use() - memory, 64 * 1024)
  }

  func test_RLK_THREAD_3_eightThreadsEditLoopsThatRunAndEnd() {
    let loops = Box<[RunLoop]>([])
    let isOver = Box(false)
    let shared = (0..<4).map { _ in RunLoop.Source { _ in } }
    let runners = (0..<3).map { _ in TestThread { while !isOver.value { runOneLoop(listedIn: loops) } } }
    let editors = (0..<8).map { seed in
      TestThread {
        var editor = StressEditor(seed: seed, loops, shared)
        for _ in 0..<2000 { editor.edit() }
      }
    }
    for thread in editors { thread.join() }
    isOver.value = true
    for thread in runners { thread.join() }
    XCTAssertEqual(loops.value.count, 0)
  }
}

/// A loop on a thread of its own that runs a few times and ends.
private func runOneLoop(listedIn loops: Box<[RunLoop]>) {
  TestThread {
    let loop = RunLoop.current
    _ = try? loop.add(RunLoop.Timer.never())
    loops.update { $0.append(loop) }
    for _ in 0..<10 { _ = try? loop.run(for: .microseconds(200)) }
    loops.update { $0.removeAll { $0 === loop } }
  }.join()
}

/// Adds, removes, signals, posts, stops and invalidates, whatever comes.
private struct StressEditor {
  private let loops: Box<[RunLoop]>
  private let shared: [RunLoop.Source]
  private let counter = EventCounter()
  private var state: UInt64

  init(seed: Int, _ loops: Box<[RunLoop]>, _ shared: [RunLoop.Source]) {
    (self.loops, self.shared) = (loops, shared)
    state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
  }

  private mutating func next(_ bound: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(bound))
  }

  mutating func edit() {
    let all = loops.value
    guard !all.isEmpty else {
      sched_yield()
      return
    }
    edit(all[next(all.count)])
  }

  private mutating func edit(_ loop: RunLoop) {
    let source = shared[next(shared.count)]
    let mode: RunLoop.Mode = next(3) == 0 ? .common : .default
    switch next(13) {
    case 0: _ = try? loop.add(source, to: mode)
    case 1: loop.remove(source, from: mode)
    case 2: source.signal()
    case 3: loop.wakeUp()
    case 4: loop.stop()
    case 5: try? loop.perform { loop.wakeUp() }
    case 6: try? loop.enqueue(in: "other", .common) {}
    case 7:
      let timer = RunLoop.Timer(fireDate: .now, interval: .milliseconds(2)) { _ in }
      _ = try? loop.add(timer, to: mode)
      timer.fireDate = .now.advanced(by: .microseconds(20))
      if next(2) == 0 { timer.invalidate() }
    case 8:
      let observer = RunLoop.Observer(.all, order: next(3)) { observer, _ in observer.invalidate() }
      _ = try? loop.add(observer, to: mode)
    case 9:
      guard let port = try? PortSourceFactory.make(counter, {}) else { return }
      _ = try? loop.add(port, to: mode)
      counter.add()
      port.invalidate()
    case 10: loop.addCommonMode("other")
    case 11:
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { loop, _ in loop.wakeUp() }
      let hooked = RunLoop.Source(hooks: hooks) { _ in }
      _ = try? loop.add(hooked, to: mode)
      hooked.invalidate()
    default: _ = loop.description.count + loop.modes.count + (loop.isWaiting ? 1 : 0)
    }
  }
}
