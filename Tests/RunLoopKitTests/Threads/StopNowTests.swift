import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// After the callout that stops the thread now, nothing is called that was queued after the stop; what the pass had taken up
/// before, is.
final class StopNowTests: XCTestCase {
  private func expect(
    _ lines: [String], file: StaticString = #filePath, line: UInt = #line,
    _ setUp: @escaping @Sendable (StopNowStage, RunLoop) throws -> Void
  ) throws {
    let stage = StopNowStage()
    XCTAssertEqual(try stage.run { try setUp(stage, $0) }, lines, file: file, line: line)
  }

  func test_RLK_RESIDENT_31_inABlock() throws {
    try expect(["stop", "block"]) { stage, loop in
      try loop.perform { stage.stopAndQueueAll() }
      try loop.perform { stage.note("block") }
    }
  }

  func test_RLK_RESIDENT_31_eachKindAlone() throws {
    for kind in StopNowStage.Kind.allCases {
      try expect(["stop"]) { stage, loop in
        try loop.perform {
          stage.note("stop")
          stage.stop()
          stage.queue(kind)
        }
      }
    }
  }

  /// That of a pass which has served an event.
  func test_RLK_RESIDENT_31_inABlockAfterAnEvent() throws {
    try expect(["timer", "stop", "block"]) { stage, loop in
      try loop.add(
        RunLoop.Timer(fireDate: .now) { _ in
          stage.note("timer")
          try? stage.loop.perform { stage.stopAndQueueAll() }
          try? stage.loop.perform { stage.note("block") }
        })
    }
  }

  func test_RLK_RESIDENT_31_inASource() throws {
    try expect(["stop"]) { stage, loop in
      let source = RunLoop.Source { _ in stage.stopAndQueueAll() }
      try loop.add(source)
      source.signal()
    }
  }

  /// The pass has taken up three, and one is signalled once more.
  func test_RLK_RESIDENT_31_inOneOfSeveralSources() throws {
    try expect(["first", "stop", "third"]) { stage, loop in
      let first = RunLoop.Source(order: -2) { _ in stage.note("first") }
      let sources = [
        first,
        RunLoop.Source(order: -1) { source in
          stage.stopAndQueueAll()
          source.signal()
          first.signal()
        },
        RunLoop.Source(order: 1) { _ in stage.note("third") },
      ]
      for source in sources {
        try loop.add(source)
        source.signal()
      }
    }
  }

  /// The pass has taken up three.
  func test_RLK_RESIDENT_31_inATimer() throws {
    try expect(["stop", "second", "third"]) { stage, loop in
      let now = RunLoop.Instant.now
      try loop.add(RunLoop.Timer(fireDate: now) { _ in stage.stopAndQueueAll() })
      try loop.add(RunLoop.Timer(fireDate: now) { _ in stage.note("second") })
      try loop.add(RunLoop.Timer(fireDate: now) { _ in stage.note("third") })
    }
  }

  func test_RLK_RESIDENT_31_inADelayedPerform() throws {
    try expect(["stop"]) { stage, loop in
      try loop.perform(after: .zero, target: stage) { stage.stopAndQueueAll() }
    }
  }

  /// Another one is ready, and has not had its turn.
  func test_RLK_RESIDENT_31_inAPortSource() throws {
    let counters = [EventCounter(), EventCounter()]
    for counter in counters { counter.add() }
    try expect(["stop"]) { stage, loop in
      for counter in counters {
        try loop.add(RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in stage.stopAndQueueAll() })
      }
    }
  }

  func test_RLK_RESIDENT_31_inADescriptorSource() throws {
    let pipe = Pipe()
    defer { pipe.closeBoth() }
    pipe.send("x")
    try expect(["stop"]) { stage, loop in
      try loop.add(
        RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in
          stage.stopAndQueueAll()
        })
    }
  }

  func test_RLK_RESIDENT_31_inAPort() throws {
    try expect(["stop"]) { stage, loop in
      let port = RunLoop.Port { _, _ in stage.stopAndQueueAll() }
      try loop.add(port)
      for _ in 0..<2 { try port.sendRight.trySend(RunLoop.Message()) }
    }
  }

  func test_RLK_RESIDENT_31_inAnIdleBlock() throws {
    try expect(["stop"]) { stage, loop in
      try loop.performWhenIdle { stage.stopAndQueueAll() }
      try loop.performWhenIdle { stage.note("second") }
    }
  }
}

// MARK: Observers

extension StopNowTests {
  /// Something of each kind is ready.
  func test_RLK_RESIDENT_31_inAnObserverOfEachActivity() throws {
    for activity: RunLoop.Activity in [.entry, .beforeTimers, .beforeSources, .exit] {
      try expect(["stop"]) { stage, loop in
        if activity != .exit { stage.queueAll() } else { try loop.perform { stage.stop() } }
        try loop.add(RunLoop.Observer(activity) { _, _ in stage.stopAndQueueAll() })
      }
    }
    try expect(["stop"]) { stage, loop in
      try loop.add(RunLoop.Observer(.beforeWaiting) { _, _ in stage.stopAndQueueAll() })
    }
  }

  /// The pass has found its event, which no other pass would find again.
  func test_RLK_RESIDENT_32_afterTheWaitItsEventIsServed() throws {
    let counters = [EventCounter(), EventCounter()]
    for counter in counters { counter.add() }
    try expect(["stop", "event"]) { stage, loop in
      for counter in counters {
        try loop.add(RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in stage.note("event") })
      }
      try loop.add(RunLoop.Observer(.afterWaiting) { _, _ in stage.stopAndQueueAll() })
    }
  }

  /// Which timers are due is looked for when they are called.
  func test_RLK_RESIDENT_31_afterTheWaitNoTimerIsTakenUp() throws {
    try expect(["stop"]) { stage, loop in
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in stage.note("timer") })
      try loop.add(RunLoop.Observer(.afterWaiting) { _, _ in stage.stopAndQueueAll() })
    }
  }

  /// The observers of a pass are no work: who has heard of its beginning hears of its end.
  func test_RLK_RESIDENT_33_observersHearOfTheEndOfThePass() throws {
    let source = RunLoop.Source { _ in }
    try expect(["entry", "timers", "sources", "stop", "waiting", "waited", "exit"]) { stage, loop in
      try loop.add(source)
      for (activity, name) in [
        (RunLoop.Activity.entry, "entry"), (.beforeTimers, "timers"), (.beforeSources, "sources"),
        (.beforeWaiting, "waiting"), (.afterWaiting, "waited"), (.exit, "exit"),
      ] {
        try loop.add(RunLoop.Observer(activity) { _, _ in stage.note(name) })
      }
      try loop.perform { stage.stopAndQueueAll() }
    }
  }
}

// MARK: Jobs

extension StopNowTests {
  /// Those that waited when the executor had its turn run on the thread, and none that comes later, whatever its priority.
  func test_RLK_RESIDENT_34_inAJob() throws {
    try expect(["stop", "second", "third"]) { stage, loop in
      Task(executorPreference: loop.executor) { stage.stopAndQueueAll() }
      stage.queueJob("second")
      stage.queueJob("third")
    }
  }

  /// The executor has been found to have work, by a pass whose first source stops the thread.
  func test_RLK_RESIDENT_34_jobsThatComeBeforeTheirTurnAndBehindTheStop() throws {
    try expect(["stop", "job"]) { stage, loop in
      let source = RunLoop.Source(order: -1) { _ in stage.stopAndQueueAll() }
      try loop.add(source)
      source.signal()
      stage.queueJob("job")
    }
  }
}

// MARK: Runs inside of others

extension StopNowTests {
  /// The runs around the nested one had taken up a timer, a source and a block, which are called; and have taken up nothing
  /// more when they go on.
  func test_RLK_RESIDENT_35_inANestedRun() throws {
    try expect(["nested", "stop", "collected", "nested run over", "next source"]) { stage, loop in
      let sources = [
        RunLoop.Source(order: -1) { _ in
          stage.note("nested")
          try? stage.loop.enqueue(in: "inner") { stage.stopAndQueueAll() }
          try? stage.loop.enqueue(in: "inner") { stage.note("collected") }
          _ = try? stage.loop.runUntilStopped(in: "inner")
          stage.note("nested run over")
          stage.queueAll()
        },
        RunLoop.Source(order: 1) { _ in stage.note("next source") },
      ]
      for source in sources {
        try loop.add(source)
        source.signal()
      }
    }
  }

  /// A run that begins after the stop calls nothing, not even what was queued before.
  func test_RLK_RESIDENT_35_aRunThatBeginsAfterTheStop() throws {
    try expect(["stop", "over"]) { stage, loop in
      try loop.perform {
        stage.queueAll()
        stage.stopAndQueueAll()
        for mode: RunLoop.Mode in [.default, "other"] { _ = try? stage.loop.runUntilStopped(in: mode) }
        stage.note("over")
      }
    }
  }

  /// A pass of a host that runs its own loop in a callout.
  func test_RLK_RESIDENT_35_inAPassOfAHost() throws {
    try expect(["stop", "collected", "over"]) { stage, loop in
      try loop.perform {
        do {
          let loop = stage.loop
          try loop.enqueue(in: "dialogue") { stage.stopAndQueueAll() }
          try loop.enqueue(in: "dialogue") { stage.note("collected") }
          XCTAssertTrue(try loop.prepareToWait(in: "dialogue"))
          XCTAssertEqual(try loop.runPendingWork(in: "dialogue"), .stopped)
          try loop.enqueue(in: "dialogue") { stage.note("later") }
          XCTAssertTrue(try loop.prepareToWait(in: "dialogue"))
          XCTAssertEqual(try loop.runPendingWork(in: "dialogue"), .stopped)
          stage.note("over")
        } catch { XCTFail("\(error)") }
      }
    }
  }
}

extension StopNowTests {
  /// A stop that comes for a host's wait goes with it; but not that of the thread.
  func test_RLK_RESIDENT_35_inAWaitThatItsHostGivesUp() throws {
    try expect(["stop", "over"]) { stage, loop in
      try loop.perform {
        do {
          XCTAssertFalse(try stage.loop.prepareToWait(in: "dialogue"))
          stage.stopAndQueueAll()
          try stage.loop.cancelWait(in: "dialogue")
          stage.note("over")
        } catch { XCTFail("\(error)") }
      }
    }
  }
}

// MARK: After due work

extension StopNowTests {
  /// A callout of the run around has found an event, and one in it tells the thread to end: neither the event nor the timers
  /// that were due are lost.
  func test_RLK_RESIDENT_36_afterDueWorkNothingIsLostThatAPassHasFound() throws {
    let counters = (0..<3).map { _ in EventCounter() }
    for counter in counters { counter.add() }
    let log = Box<[String]>([])
    let own = Box<RunLoop.Thread?>(nil)
    let thread = RunLoop.Thread(name: "due") { loop in
      for counter in counters {
        try loop.add(RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in log.update { $0.append("event") } })
      }
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in log.update { $0.append("timer") } })
      try loop.perform {
        log.update { $0.append("block") }
        own.value?.stop(.afterDueWork)
        _ = try? RunLoop.current.run(in: .default, for: .zero)
      }
      let source = RunLoop.Source { _ in log.update { $0.append("source") } }
      try loop.add(source)
      source.signal()
    }
    own.value = thread
    try thread.start()
    try thread.join()
    own.value = nil
    XCTAssertEqual(log.value.first, "block")
    XCTAssertEqual(log.value.sorted(), ["block", "event", "event", "event", "source", "timer"])
    withExtendedLifetime(counters) {}
  }

  /// The stop after due work waits for a run that a callout has nested in another mode.
  func test_RLK_RESIDENT_39_nowMayFollowAfterDueWork() throws {
    let (isNested, result) = (Gate(), Box<RunLoop.RunResult?>(nil))
    let thread = RunLoop.Thread(name: "nested")
    try thread.start()
    try thread.perform {
      let loop = RunLoop.current
      try? loop.enqueue(in: "aside") { isNested.open() }
      result.value = try? loop.runUntilStopped(in: "aside")
    }
    isNested.wait()
    thread.stop(.afterDueWork)
    XCTAssertEqual(thrown { try thread.join(timeout: .zero) }, .timedOut)
    thread.stop(.now)
    try thread.join(timeout: .seconds(30))
    XCTAssertEqual(result.value, .stopped)
  }

  /// The thread serves what is due, and is told to end now by a callout of that.
  func test_RLK_RESIDENT_37_nowWhileItServesWhatIsDue() throws {
    try expect(["told", "stop"]) { stage, loop in
      let source = RunLoop.Source { _ in stage.stopAndQueueAll() }
      try loop.add(source)
      try loop.perform {
        stage.note("told")
        stage.stop(.afterDueWork)
        try? stage.loop.perform { source.signal() }
      }
    }
  }
}
