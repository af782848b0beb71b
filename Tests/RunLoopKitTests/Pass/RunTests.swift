import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class RunTests: XCTestCase {
  override func tearDown() { CountingKernel.script.atReading = nil }

  func test_RLK_RUN_1_emptyUnknownAndPseudoModesFinishAtOnce() {
    onThread {
      let loop = RunLoop.current
      let entries = Box(0)
      try loop.add(RunLoop.Observer(.all) { _, _ in entries.value += 1 }, to: .common)
      XCTAssertEqual(try loop.run(), .finished)
      XCTAssertEqual(try loop.run(in: "nobody made this"), .finished)
      XCTAssertEqual(try loop.run(in: .common), .finished)
      XCTAssertEqual(entries.value, 0)
      XCTAssertFalse(loop.modes.contains("nobody made this"))
    }
  }

  func test_RLK_RUN_2_onlyTheOwnThreadRuns() {
    let loop = RunLoop.current
    onThread {
      XCTAssertThrowsError(try loop.run(for: .zero)) {
        XCTAssertEqual($0 as? RunLoopError, .wrongThread)
      }
      XCTAssertEqual(thrown { try loop.run() }, .wrongThread)
      XCTAssertThrowsError(try loop.prepareToWait())
      XCTAssertThrowsError(try loop.runPendingWork())
    }
  }

  func test_RLK_RUN_3_aPollIsOnePassWithoutWaitingNotifications() {
    onThread {
      let loop = RunLoop.current
      let seen = Box<[RunLoop.Activity]>([])
      try loop.add(RunLoop.Observer(.all) { _, activity in seen.update { $0.append(activity) } })
      try loop.add(RunLoop.Timer.never())
      for limit: Duration in [.zero, .seconds(-5), .nanoseconds(-1)] {
        seen.value = []
        XCTAssertEqual(try loop.run(for: limit), .timedOut)
        XCTAssertEqual(seen.value, [.entry, .beforeTimers, .beforeSources, .exit])
      }
    }
  }

  func test_RLK_RUN_4_hugeLimitsAreNone() {
    onThread {
      let loop = RunLoop.current
      let source = RunLoop.Source { _ in loop.stop() }
      try loop.add(source)
      for limit: Duration? in [nil, .seconds(600_000_000), .seconds(Int64.max)] {
        source.signal()
        XCTAssertEqual(try loop.run(for: limit), .stopped)
      }
      source.signal()
      XCTAssertEqual(try loop.run(until: .distantFuture), .stopped)
    }
  }

  func test_RLK_RUN_5_stopReachesTheInnermostRunOnly() {
    onThread {
      let loop = RunLoop.current
      let inner = Box<RunLoop.RunResult?>(nil)
      let source = RunLoop.Source { _ in
        let stopper = RunLoop.Source { _ in loop.stop() }
        stopper.signal()
        _ = try? loop.add(stopper, to: "inner")
        inner.value = try? loop.run(in: "inner")
      }
      try loop.add(source)
      source.signal()
      XCTAssertEqual(try loop.run(for: .milliseconds(1), returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(inner.value, .stopped)
      loop.stop()
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
    }
  }

  func test_RLK_RUN_6_aStopFromAnotherThreadEndsASleep() {
    let ready = Gate()
    let loop = Box<RunLoop?>(nil)
    let result = Box<RunLoop.RunResult?>(nil)
    let thread = TestThread {
      loop.value = RunLoop.current
      _ = try? RunLoop.current.add(RunLoop.Timer.never())
      _ = try? RunLoop.current.add(RunLoop.Observer(.beforeWaiting) { _, _ in ready.open() })
      result.value = try? RunLoop.current.run()
    }
    ready.wait()
    loop.value?.stop()
    thread.join()
    XCTAssertEqual(result.value, .stopped)
  }

  /// Between the decision at the end of a pass and the next one, where the loop reads the clock because statistics
  /// have begun: nothing else of the program runs there.
  func test_RLK_RUN_13_aWakeBehindTheDecisionEndsARunThatHasNothingLeft() {
    onThread {
      CountingKernel.install()
      let loop = RunLoop.current
      let (sleeps, isOver) = (Box(false), Box(false))
      let last = RunLoop.Source { _ in }
      try loop.add(last)
      let watch = Gate()
      let watcher = TestThread {
        watch.wait()
        yieldUntil(loop.isWaiting || isOver.value)
        sleeps.value = !isOver.value
        loop.stop()
      }
      try loop.add(
        RunLoop.Timer(fireDate: .now) { _ in
          try! loop.enqueue {
            loop.collectsStatistics = true
            CountingKernel.script.atReading = {
              CountingKernel.script.atReading = nil
              TestThread {
                last.invalidate()
                loop.wakeUp()
              }.join()
              watch.open()
            }
          }
        })
      XCTAssertEqual(try loop.run(), .finished)
      isOver.value = true
      XCTAssertNil(CountingKernel.script.atReading)
      watcher.join()
      XCTAssertFalse(sleeps.value)
    }
  }

  func test_RLK_RUN_16_anEmptyModeIsNoticedAtTheEndOfAPassOnly() {
    onThread {
      let loop = RunLoop.current
      try loop.perform {}
      XCTAssertEqual(try loop.run(for: .milliseconds(1)), .timedOut)
      try loop.performAsSource {}
      XCTAssertEqual(try loop.run(for: .seconds(600)), .finished)
      try loop.perform { loop.wakeUp() }
      XCTAssertEqual(try loop.run(for: .seconds(600)), .finished)
      try loop.perform { loop.stop() }
      XCTAssertEqual(try loop.run(for: .seconds(600)), .stopped)
    }
  }

  func test_RLK_RUN_7_nestingIsDeep() {
    onThread {
      let loop = RunLoop.current
      let (depth, deepest) = (Box(0), isSlow ? 100 : 500)
      let source = RunLoop.Source { source in
        depth.value += 1
        guard depth.value < deepest else { return }
        source.signal()
        _ = try? loop.run(for: .zero)
      }
      try loop.add(source)
      source.signal()
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(depth.value, deepest)
    }
  }

  func test_RLK_RUN_8_aBlockThatPostsItselfStarvesNobody() {
    onThread {
      let loop = RunLoop.current
      let counter = EventCounter()
      let served = Box(0)
      @Sendable func again() { try? loop.perform(block: again) }
      try loop.add(
        PortSourceFactory.make(counter) {
          served.value += 1; if served.value < 3 { counter.add() } else { loop.stop() }
        })
      again()
      counter.add()
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      XCTAssertEqual(served.value, 3)
    }
  }
}

enum PortSourceFactory {
  static func make(_ counter: EventCounter, _ body: @escaping @Sendable () -> Void) throws -> RunLoop.PortSource {
    try RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in body() }
  }
}
