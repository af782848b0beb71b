import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// A host that serves its loop no more.
final class HostLeavingTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }
  override func tearDown() { CountingKernel.script = CountingKernel.Script() }

  /// What it is told of the wait in a mode.
  private func watch(_ loop: RunLoop, _ mode: RunLoop.Mode = .default) throws -> Box<[RunLoop.Activity]> {
    let told = Box<[RunLoop.Activity]>([])
    try loop.add(
      RunLoop.Observer([.beforeWaiting, .afterWaiting]) { _, activity in told.update { $0.append(activity) } }, to: mode
    )
    return told
  }

  func test_RLK_HOST_18_whatComesForALeftWaitIsNobodys() {
    onThread {
      let (loop, passes) = (RunLoop.current, Box(0))
      try loop.add(RunLoop.Timer.never())
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
      let told = try self.watch(loop)
      try loop.cancelWait()  // none has begun
      XCTAssertEqual(told.value, [])
      let asks: [(RunLoop) -> Void] = [{ $0.stop() }, { $0.wakeUp() }, { _ in }]
      for ask in asks {
        told.value = []
        XCTAssertFalse(try loop.prepareToWait())
        XCTAssertTrue(loop.isWaiting)
        ask(loop)
        try loop.cancelWait()
        XCTAssertFalse(loop.isWaiting)
        XCTAssertNil(loop.currentMode)
        XCTAssertEqual(told.value, [.beforeWaiting, .afterWaiting])
        XCTAssertTrue(loop.description.contains("(not running)"))
        ask(loop)
        try loop.cancelWait()
        XCTAssertEqual(told.value.count, 2)
        XCTAssertEqual(try loop.runPendingWork(), .timedOut)
        XCTAssertFalse(try loop.prepareToWait())
        XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      }
      XCTAssertEqual(passes.value, 0)
    }
  }

  /// What an earlier preparation has got is nobody's either.
  func test_RLK_HOST_18_whatCameForAnEarlierPreparationOfAWaitIsNobodys() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      let asks: [(RunLoop) -> Void] = [{ $0.stop() }, { $0.wakeUp() }]
      for ask in asks {
        XCTAssertFalse(try loop.prepareToWait())
        ask(loop)
        XCTAssertTrue(try loop.prepareToWait())
        try loop.cancelWait()
        XCTAssertFalse(try loop.prepareToWait())
        XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      }
    }
  }

  /// It has found work, and leaves without serving it: a stop until then is dropped, and the work is not.
  func test_RLK_HOST_18_workThatWasFoundStays() {
    onThread {
      let (loop, log, counter) = (RunLoop.current, Box<[String]>([]), EventCounter())
      let port = try PortSourceFactory.make(counter) { log.update { $0.append("port") } }
      try loop.add(port)
      try loop.enqueue { log.update { $0.append("block") } }
      counter.add()
      let told = try self.watch(loop)
      XCTAssertTrue(try loop.prepareToWait())
      loop.stop()
      try loop.cancelWait()
      XCTAssertEqual(told.value, [])
      XCTAssertEqual(log.value, [])
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      counter.add()
      XCTAssertTrue(try loop.prepareToWait())  // holds the event
      try loop.cancelWait()
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(log.value, ["block", "port", "port"])
    }
  }

  /// The first look fails, or the one behind the observers.
  func test_RLK_HOST_18_aPreparationThatFailsLeavesNoWait() {
    for failing in 1...2 {
      onThread {
        let (loop, looks, counter) = (RunLoop.current, Box(0), EventCounter())
        try loop.add(PortSourceFactory.make(counter) {})
        let told = try self.watch(loop)
        _ = try loop.hostDescriptor()
        CountingKernel.script.wait = { _ in
          looks.value += 1
          return looks.value == failing ? -EBADF : nil
        }
        XCTAssertEqual(thrown { try loop.prepareToWait() }, .system(EBADF, call: "epoll_wait"))
        CountingKernel.script.wait = nil
        XCTAssertEqual(told.value, failing == 1 ? [] : [.beforeWaiting, .afterWaiting])
        XCTAssertFalse(loop.isWaiting)
        XCTAssertNil(loop.currentMode)
        loop.stop()
        XCTAssertFalse(try loop.prepareToWait())
        XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      }
    }
  }

  func test_RLK_HOST_18_whoMayNot() {
    let (loop, ready, done) = (Box<RunLoop?>(nil), Gate(), Gate())
    let owner = TestThread {
      loop.value = .current
      ready.open()
      done.wait()
    }
    ready.wait()
    XCTAssertEqual(thrown { try loop.value!.cancelWait() }, .wrongThread)
    done.open()
    owner.join()
    XCTAssertEqual(thrown { try loop.value!.cancelWait() }, .loopEnded)
    onThread { XCTAssertEqual(thrown { try RunLoop.current.cancelWait(in: .common) }, .commonModeNotRunnable) }
  }

  /// One that has found work, and has told nobody, has nothing to tell at its end.
  func test_RLK_HOST_21_observersHearOfBothEndsOfAWaitOrOfNeither() {
    for isCancelled in [false, true] {
      onThread {
        let loop = RunLoop.current
        let told = try self.watch(loop)
        try loop.enqueue {}
        XCTAssertTrue(try loop.prepareToWait())
        if isCancelled { try loop.cancelWait() } else { try loop.runPendingWork() }
        XCTAssertEqual(told.value, [])
        XCTAssertEqual(try loop.runPendingWork(), .timedOut)
        XCTAssertEqual(told.value, [])
      }
    }
  }

  /// A host that has slept, and has served others than the loop, prepares it anew.
  func test_RLK_HOST_21_aModeThatIsPreparedAnew() {
    onThread {
      let (loop, source) = (RunLoop.current, RunLoop.Source { _ in })
      try loop.add(source)
      let told = try self.watch(loop)
      for _ in 0..<3 { XCTAssertFalse(try loop.prepareToWait()) }
      let wait: [RunLoop.Activity] = [.beforeWaiting, .afterWaiting]
      XCTAssertEqual(told.value, wait + wait + [.beforeWaiting])
      // What its observer asks for then is found by the same call.
      try loop.add(RunLoop.Observer(.afterWaiting, repeats: false) { _, _ in source.signal() })
      XCTAssertTrue(try loop.prepareToWait())
      XCTAssertEqual(told.value, wait + wait + wait)
      try loop.runPendingWork()
      XCTAssertEqual(told.value, wait + wait + wait)
    }
  }

  /// In an observer of the preparation, in one of the end, and in a run that the host makes before its sleep.
  func test_RLK_HOST_20_fromInsideOfACallout() {
    func leaves(_ act: @escaping (RunLoop, @escaping @Sendable () -> Void) throws -> Void, line: UInt = #line) {
      onThread {
        let (loop, told) = (RunLoop.current, Box<[RunLoop.Activity]>([]))
        try loop.add(RunLoop.Timer.never())
        try loop.add(
          RunLoop.Observer([.beforeWaiting, .afterWaiting]) { _, activity in told.update { $0.append(activity) } })
        try act(loop) {
          XCTAssertNotNil(loop.currentMode, line: line)
          XCTAssertNil(thrown { try loop.cancelWait() }, line: line)
          XCTAssertNotNil(loop.currentMode, line: line)
          loop.stop()
        }
        XCTAssertNil(loop.currentMode, line: line)
        XCTAssertFalse(loop.isWaiting, line: line)
        XCTAssertEqual(told.value, [.beforeWaiting, .afterWaiting], line: line)
        loop.stop()
        XCTAssertFalse(try loop.prepareToWait(), line: line)
        XCTAssertEqual(try loop.runPendingWork(), .timedOut, line: line)
      }
    }
    leaves { loop, leave in
      try loop.add(RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in leave() })
      XCTAssertTrue(try loop.prepareToWait())
    }
    leaves { loop, leave in
      try loop.add(RunLoop.Observer(.afterWaiting, repeats: false) { _, _ in leave() })
      XCTAssertFalse(try loop.prepareToWait())
      try loop.cancelWait()
    }
    leaves { loop, leave in
      XCTAssertFalse(try loop.prepareToWait())
      try loop.enqueue { leave() }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
    }
    leaves { loop, leave in
      try loop.add(
        RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in
          try? loop.enqueue { leave() }
          XCTAssertEqual(try? loop.run(for: .zero), .timedOut)
        })
      XCTAssertTrue(try loop.prepareToWait())
    }
  }

  /// The observer of after-waiting by `runPendingWork` has nothing left to cancel, and the next wait is another one.
  func test_RLK_HOST_20_theEndOfAWaitCancelsNoLaterOne() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      try loop.add(
        RunLoop.Observer(.afterWaiting, repeats: false) { _, _ in XCTAssertNil(thrown { try loop.cancelWait() }) })
      XCTAssertFalse(try loop.prepareToWait())
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      XCTAssertFalse(try loop.prepareToWait())
      XCTAssertTrue(loop.isWaiting)
      try loop.enqueue {}
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(loop.currentMode, .default)
      loop.stop()
      XCTAssertEqual(try loop.runPendingWork(), .stopped)
    }
  }
}
