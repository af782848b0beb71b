import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// What is told, in order.
private final class Reports: Sendable {
  private let told = Mutex<[RunLoop.SlowCallout]>([])

  func append(_ slow: RunLoop.SlowCallout) { told.withLock { $0.append(slow) } }

  func take() -> [RunLoop.SlowCallout] {
    told.withLock { told in
      defer { told = [] }
      return told
    }
  }
}

/// Which callouts a loop tells of as slow, and for how long they have taken: in virtual time.
@Suite struct SlowCalloutTests {
  @Test func everyKindOfCalloutIsTold() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let reports = Reports()
      loop.reportSlowCallouts(longerThan: limit) { slow in
        #expect(loop.isCurrent)
        reports.append(slow)
      }
      func expect(_ kind: RunLoop.SlowCallout.Kind, _ name: String, in mode: RunLoop.Mode = .default) {
        let told = reports.take()
        #expect(told.map(\.kind) == [kind] && told.first?.name == name)
        #expect(told.first?.mode == mode && told.first?.duration == slow)
        #expect(told.first?.description == "\(name) took \(slow) in mode \(mode.rawValue)")
      }

      try loop.perform(in: .tracking) { time.advance(by: slow) }
      try loop.perform(in: .tracking) { time.advance(by: limit) }  // not longer
      try loop.run(in: .tracking, for: .zero)
      expect(.block, "block", in: .tracking)

      let sources = (0..<2).map { order in RunLoop.Source(order: order) { _ in time.advance(by: slow) } }
      sources[0].label = "parser"
      for source in sources { try loop.add(source) }
      sources[0].signal()
      try loop.run(for: .zero)
      expect(.source, "parser")
      for source in sources { source.signal() }
      sources[1].label = "second"
      try loop.run(for: .zero)
      #expect(reports.take().map(\.name) == ["parser", "second"])
      for source in sources { source.invalidate() }

      let timer = RunLoop.Timer(fireDate: time.now) { _ in time.advance(by: slow) }
      try loop.add(timer)
      try loop.run(for: .zero)
      expect(.timer, timer.description)
      #expect(!timer.isValid)

      let observer = RunLoop.Observer(.beforeTimers, repeats: false) { _, _ in time.advance(by: slow) }
      observer.label = "layout"
      try loop.add(observer)
      let keeper = RunLoop.Source { _ in }
      try loop.add(keeper)
      try loop.run(for: .zero)
      expect(.observer, "layout")

      let port = RunLoop.Port { _, _ in time.advance(by: slow) }
      port.label = "inbox"
      try loop.add(port)
      try port.sendRight.send(.init(id: 1))
      try loop.run(for: .zero)
      expect(.port, "inbox")

      try loop.performWhenIdle(label: "idle work") { time.advance(by: slow) }
      #expect(try loop.run(for: .seconds(1)) == .timedOut)
      expect(.block, "idle work")
      try descriptors(time, loop) { expect($0, $1) }
      try hosted(time, loop) { expect($0, $1) }
    }
  }

  /// Of what has no label, where the function that was called takes the line.
  @Test func test_RLK_STAT_4_theLineThatMadeItIsTold() async throws {
    try await VirtualTime.run { time in
      let (loop, reports) = (RunLoop.current, Reports())
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
      loop.reportSlowCallouts(longerThan: limit, to: reports.append)
      let work: @Sendable () -> Void = { time.advance(by: slow) }
      /// - Parameter count: How many lines above the call the item was made, or the block queued.
      func expect(_ kind: RunLoop.SlowCallout.Kind, _ what: String, above count: Int = 1, _ line: Int = #line) throws {
        try loop.run(for: .milliseconds(200))
        let (told, name) = (reports.take(), "\(what) at \(#fileID):\(line - count)")
        #expect(told.map(\.kind) == [kind] && told.map(\.name) == [name])
      }
      let commit = try RunLoop.Commit(on: loop, work)
      commit.setNeeded()
      try expect(.observer, "observer", above: 2)
      let group = try RunLoop.Commit(on: loop, at: .afterReady, work)
      group.setNeeded()
      try expect(.timer, "timer", above: 2)
      let link = RunLoop.DisplayLink { link, _ in
        work()
        link.invalidate()
      }
      try link.add(to: loop)
      try expect(.timer, "timer", above: 5)
      try loop.perform(after: .zero, block: work)
      try expect(.timer, "timer")
      try loop.perform(after: .zero, in: [.default], block: work)
      try expect(.timer, "timer")
      try loop.performAsSource(block: work)
      try expect(.block, "block")
      try loop.performAsSource(in: [.default], block: work)
      try expect(.block, "block")
      try loop.performWhenIdle(block: work)
      try expect(.block, "block")
      let asker = time.start {
        orFail { try loop.performAndWait(block: work) }
      }
      try expect(.block, "block", above: 2)
      asker.join()
      try loop.assumeOnLoop { local in
        let own = try local.commit(work)
        own.setNeeded()
        try expect(.observer, "observer", above: 2)
        own.invalidate()
        try local.perform(after: .zero, block: work)
        try expect(.timer, "timer")
        try local.performWhenIdle(block: work)
        try expect(.block, "block")
      }
      commit.invalidate()
      group.invalidate()
    }
  }

  @Test func test_RLK_STAT_5_patternsPerformsAndBlocksHaveLabels() async throws {
    try await VirtualTime.run { time in
      let (loop, reports) = (RunLoop.current, Reports())
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
      loop.reportSlowCallouts(longerThan: limit, to: reports.append)
      let work: @Sendable () -> Void = { time.advance(by: slow) }
      func expect(_ names: String...) throws {
        try loop.run(for: .milliseconds(200))
        #expect(reports.take().map(\.name) == names)
      }
      for moment in [RunLoop.Commit.Moment.beforeWaiting, .afterReady] {
        let commit = try RunLoop.Commit(on: loop, at: moment, work)
        #expect(commit.label == nil)
        commit.label = "layout"
        #expect(commit.label == "layout" && loop.description.contains("<observer \"layout\" order 2000000"))
        commit.setNeeded()
        try expect("layout")
        commit.invalidate()
      }
      let link = RunLoop.DisplayLink { link, _ in
        work()
        link.invalidate()
      }
      link.label = "frames"
      try link.add(to: loop)
      try expect("frames")
      #expect(link.label == "frames")

      let delayed = try loop.perform(after: .zero, block: work)
      #expect(delayed.label == nil)
      delayed.label = "later"
      #expect(delayed.label == "later" && loop.description.contains("<timer \"later\" order 0"))
      try expect("later")
      #expect(delayed.label == nil)
      delayed.label = "too late"

      try loop.perform(label: "posted", block: work)
      try loop.perform(block: work)
      try loop.enqueue(label: "queued", in: "never", .default, block: work)
      try loop.performAsSource(label: "source", block: work)
      try loop.performAsSource(in: [.default], label: "source of a list", block: work)
      try expect("posted", "block", "queued", "source", "source of a list")
      try loop.performWhenIdle(label: "idle", block: work)
      try expect("idle")
      let asker = time.start {
        orFail { try loop.performAndWait(label: "answer", block: work) }
      }
      try expect("answer")
      asker.join()
      try loop.assumeOnLoop { local in
        try local.perform(label: "own", block: work)
        try local.enqueue(label: "own, queued", block: work)
        try expect("own", "own, queued")
        try local.performWhenIdle(label: "own, idle", block: work)
        try expect("own, idle")
      }
    }
  }

  /// A run in a labelled block gives its label to no other callout, and no other label to it.
  @Test func labelsOfNestedBlocksAreTheirOwn() async throws {
    try await VirtualTime.run { time in
      let (loop, reports) = (RunLoop.current, Reports())
      loop.reportSlowCallouts(longerThan: limit, to: reports.append)
      try loop.perform(label: "outer") {
        orFail {
          try loop.perform(label: "inner", in: .tracking) { time.advance(by: slow) }
          try loop.perform(in: .tracking) { time.advance(by: slow) }
          try loop.run(in: .tracking, for: .zero)
        }
        time.advance(by: slow)
      }
      try loop.perform { time.advance(by: slow) }
      try loop.run(for: .zero)
      #expect(reports.take().map(\.name) == ["inner", "block", "outer", "block"])
    }
  }

  @Test func test_RLK_STAT_5_aLabelledBlockIsDroppedAsAnyOther() async throws {
    try await VirtualTime.run { time in
      let dropped = Mutex(0)
      let thread = RunLoop.Thread(name: "ends")
      try thread.start()
      let loop = try #require(thread.loop)
      try loop.perform(label: "never", in: "never", block: {}, onDrop: { dropped.withLock { $0 += 1 } })
      thread.stop()
      try thread.join()
      #expect(dropped.withLock { $0 } == 1)
      #expect(throws: RunLoopError.loopEnded) {
        try loop.perform(label: "late", block: {}, onDrop: { dropped.withLock { $0 += 1 } })
      }
      #expect(throws: RunLoopError.loopEnded) { try loop.enqueue(label: "late") {} }
      #expect(dropped.withLock { $0 } == 1)
      withExtendedLifetime(time) {}
    }
  }

  @Test func whatNestedRunsTakeIsTheirs() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let reports = Reports()
      loop.reportSlowCallouts(longerThan: limit, to: reports.append)
      func nest(own: Duration) throws -> [RunLoop.SlowCallout] {
        let outer = RunLoop.Timer(fireDate: time.now) { _ in
          time.advance(by: own / 2)
          orFail {
            try loop.perform(in: .tracking) { time.advance(by: .milliseconds(250)) }
            try loop.perform(in: .tracking) {
              orFail { try loop.run(in: "modal", for: .seconds(7)) }
            }
            try loop.add(RunLoop.Timer(fireDate: time.now.advanced(by: .seconds(5))) { _ in }, to: "modal")
            try loop.run(in: .tracking, for: .seconds(3))
          }
          time.advance(by: own / 2)
        }
        outer.label = "outer"
        try loop.add(outer)
        try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in }, to: .tracking)
        let start = time.now
        try loop.run(for: .zero)
        #expect(start.duration(to: time.now) > .seconds(5))
        return reports.take()
      }
      // Asleep in a nested run is not slow.
      var told = try nest(own: limit)
      #expect(told.map(\.name) == ["block"] && told[0].duration == .milliseconds(250) && told[0].mode == .tracking)
      told = try nest(own: .milliseconds(102))
      #expect(told.map(\.name) == ["block", "outer"] && told[1].duration == .milliseconds(102))
      #expect(told[1].mode == .default)
      #expect(told[1].description == "outer took 0.102 seconds in mode kCFRunLoopDefaultMode")
    }
  }

  /// Each of them, and what the callout takes between them is its own.
  @Test func severalRunsOfOneCalloutAreLeftOut() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let reports = Reports()
      loop.reportSlowCallouts(longerThan: limit, to: reports.append)
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in }, to: .tracking)
      try loop.perform {
        for own in [slow, limit] {
          orFail { try loop.run(in: .tracking, for: .seconds(3)) }
          time.advance(by: own)
        }
        orFail { try loop.run(in: .tracking, for: .seconds(2)) }
      }
      try loop.run(for: .zero)
      #expect(reports.take().map(\.duration) == [slow + limit])
    }
  }

  /// What is called at the end of a pause counts as a callout of the source, and the pause itself as none.
  @Test func theEndOfAPauseIsToldAsTheSource() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let reports = Reports()
      loop.reportSlowCallouts(longerThan: limit, to: reports.append)
      let ends = try FaultCaseTests.Ends()
      ends.fill()
      let rate = RunLoop.RateLimit(count: 1, per: .seconds(1)) { _ in time.advance(by: slow) }
      let source = try RunLoop.PortSource(fileDescriptor: ends.reading, limit: rate) { _ in }
      source.label = "limited"
      try loop.add(source)
      #expect(try loop.run(for: .milliseconds(1500)) == .timedOut)
      let told = reports.take()
      #expect(told.map(\.kind) == [.portSource] && told.map(\.name) == ["limited"] && told.map(\.duration) == [slow])
    }
  }

  /// The loop does not run.
  @Test func anObserverOfAHostsPassIsToldWithItsMode() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let reports = Reports()
      loop.reportSlowCallouts(longerThan: limit, to: reports.append)
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in }, to: "dialogue")
      try loop.add(
        RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in time.advance(by: slow) }, to: "dialogue")
      while try loop.prepareToWait(in: "dialogue") { try loop.runPendingWork(in: "dialogue") }
      try loop.cancelWait(in: "dialogue")
      #expect(reports.take().map(\.mode) == ["dialogue"])
    }
  }

  @Test func reportsBeginAndEndInCallouts() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let reports = Reports()
      func pass(_ blocks: (@Sendable () -> Void)...) throws -> [RunLoop.SlowCallout] {
        for block in blocks { try loop.perform { block() } }
        try loop.run(for: .zero)
        return reports.take()
      }
      loop.stopReportingSlowCallouts()  // nothing
      let none = try pass { time.advance(by: slow) }
      #expect(none == [])
      // What runs when it begins is not told, what comes after it is.
      let told = try pass(
        {
          loop.reportSlowCallouts(longerThan: limit, to: reports.append)
          time.advance(by: slow)
        }, { time.advance(by: .milliseconds(500)) })
      #expect(told.map(\.duration) == [.milliseconds(500)])
      // Another limit; each callout is told to the reporter at its end.
      let after = try pass(
        {
          time.advance(by: slow)
          loop.reportSlowCallouts(longerThan: .milliseconds(200), to: reports.append)
        }, { time.advance(by: .milliseconds(200)) }, { time.advance(by: .milliseconds(201)) })
      #expect(after.map(\.duration) == [.milliseconds(201)])
      let end = try pass(
        {
          time.advance(by: .seconds(1))
          loop.stopReportingSlowCallouts()
        }, { time.advance(by: .seconds(1)) })
      #expect(end == [])
      loop.reportSlowCallouts(longerThan: .zero, to: reports.append)
      let least = try pass({}, { time.advance(by: .nanoseconds(1)) })
      #expect(least.map(\.duration) == [.nanoseconds(1)])
      loop.reportSlowCallouts(longerThan: .seconds(Int64.max), to: reports.append)
      let never = try pass { time.advance(by: .seconds(3600)) }
      #expect(never == [])
    }
  }

  @Test func aReporterMayUseItsLoop() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let names = Mutex<[String]>([])
      loop.reportSlowCallouts(longerThan: limit) { slow in
        names.withLock { $0.append(slow.name) }
        orFail {
          try loop.perform(in: .tracking) { time.advance(by: .seconds(1)) }  // not told
          try loop.run(in: .tracking, for: .zero)
        }
        time.advance(by: .seconds(1))  // nobody's
      }
      let source = RunLoop.Source { _ in time.advance(by: slow) }
      source.label = "inner"
      try loop.add(source, to: "modal")
      source.signal()
      let timer = RunLoop.Timer(fireDate: time.now) { _ in
        orFail { try loop.run(in: "modal", for: .zero) }
      }
      try loop.add(timer)
      try loop.run(for: .zero)
      #expect(names.withLock { $0 } == ["inner"])
      try loop.perform { time.advance(by: slow) }
      try loop.run(for: .zero)
      #expect(names.withLock { $0 } == ["inner", "block"])
    }
  }

  /// In a process of its own: signals are the process's.
  @Test func theSignalSourceThatIsCalledIsTold() async {
    await #expect(processExitsWith: .success) { try tellSlowSignalSources() }
  }

  @Test func timedCalloutsAreNotCounted() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      loop.reportSlowCallouts(longerThan: limit) { _ in }
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
      try loop.perform {}
      try loop.run(for: .seconds(1))
      #expect(loop.statistics == RunLoop.Statistics() && loop.resetStatistics() == RunLoop.Statistics())
      loop.collectsStatistics = true
      try loop.perform { time.advance(by: slow) }
      try loop.run(for: .zero)
      #expect(loop.statistics.blocksPerformed == 1 && loop.statistics.runs == 1 && loop.statistics.runTime == slow)
    }
  }

  /// And lets its reporter go.
  @Test func aLoopThatHasEndedTellsNothing() async throws {
    try await VirtualTime.run { time in
      final class Token: Sendable {}
      let held = Mutex<RunLoop?>(nil)
      weak var weakToken: Token?
      do {
        let token = Token()
        weakToken = token
        time.start { [token] in
          held.withLock { $0 = RunLoop.current }
          RunLoop.current.reportSlowCallouts(longerThan: limit) { _ in withExtendedLifetime(token) {} }
        }.join()
      }
      #expect(weakToken == nil)
      let loop = held.withLock { $0 }
      loop?.reportSlowCallouts(longerThan: limit) { _ in }
      loop?.stopReportingSlowCallouts()
      #expect(loop?.hasEnded == true)
    }
  }
}

private let limit = Duration.milliseconds(100)

private let slow = Duration.milliseconds(101)

private func orFail<Result>(_ body: () throws -> Result) {
  do { _ = try body() } catch { Issue.record(error) }
}

private func descriptors(
  _ time: VirtualTime, _ loop: RunLoop, _ expect: (RunLoop.SlowCallout.Kind, String) -> Void
) throws {
  var ends: [Int32] = [0, 0]
  #expect(test_pipe(&ends) == 0 && write(ends[1], "x", 1) == 1)
  let source = try RunLoop.FileDescriptorSource(fileDescriptor: ends[0], interest: .readable) { source, _ in
    time.advance(by: slow)
    source.invalidate()
  }
  source.label = "reader"
  try loop.add(source)
  try loop.run(for: .zero)
  expect(.descriptorSource, "reader")
  let port = try RunLoop.PortSource(fileDescriptor: ends[0]) { port in
    time.advance(by: slow)
    port.invalidate()
  }
  port.label = "event"
  try loop.add(port)
  try loop.run(for: .zero)
  expect(.portSource, "event")
  for end in ends { close(end) }
}

private func hosted(
  _ time: VirtualTime, _ loop: RunLoop, _ expect: (RunLoop.SlowCallout.Kind, String) -> Void
) throws {
  let observer = RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in time.advance(by: slow) }
  observer.label = "flush"
  try loop.add(observer)
  // at most what the kernel still reports
  while observer.isValid { if try loop.prepareToWait() { try loop.runPendingWork() } }
  expect(.observer, "flush")
  try loop.runPendingWork()
}

private func tellSlowSignalSources() throws {
  let time = VirtualTime.install()
  try RunLoop.Signal.block(.user1)
  let loop = RunLoop.current
  let reports = Reports()
  loop.reportSlowCallouts(longerThan: limit, to: reports.append)
  for (order, label) in [(2, "late"), (1, "early")] {
    let source = try RunLoop.SignalSource(.user1, order: order) { _, _ in time.advance(by: slow) }
    source.label = label
    try loop.add(source)
  }
  raise(SIGUSR1)
  try loop.run(for: .zero)
  try loop.run(for: .zero)
  let told = reports.take()
  precondition(told.map(\.name) == ["early", "late"] && told.map(\.kind) == [.eventSource, .eventSource])
}
