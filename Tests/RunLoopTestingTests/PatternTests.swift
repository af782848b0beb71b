import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// Display links, commits, idle work, all modes in turn: in virtual time.
@Suite struct PatternTests {
  private final class Frames: Sendable {
    private let frames = Mutex<[RunLoop.DisplayLink.Frame]>([])

    func append(_ frame: RunLoop.DisplayLink.Frame) { frames.withLock { $0.append(frame) } }
    var all: [RunLoop.DisplayLink.Frame] { frames.withLock { $0 } }
  }

  @Test func framesLieOnAGridThatDoesNotMove() async throws {
    try await VirtualTime.run { time in
      let (loop, start, frames) = (RunLoop.current, time.now, Frames())
      let link = RunLoop.DisplayLink { link, frame in
        if time.now != frame.timestamp { Issue.record("frame \(frame.number) is late") }
        if frame.number % 3600 == 0 || frame.number <= 3 { frames.append(frame) }
      }
      try link.add(to: loop)
      #expect(try loop.run(for: .seconds(600)) == .timedOut)
      #expect(frames.all.count == 3 + 10)
      for frame in frames.all {
        let number = frame.number
        #expect(start.duration(to: frame.timestamp) == .nanoseconds((number * 1_000_000_000 + 59) / 60))
        #expect(frame.targetTimestamp == start.advanced(by: .nanoseconds(((number + 1) * 1_000_000_000 + 59) / 60)))
      }
      #expect(link.droppedFrames == 0)
    }
  }

  @Test func aDefaultToleranceDelaysNoFrame() async throws {
    try await VirtualTime.run { time in
      let (loop, frames) = (RunLoop.current, Frames())
      loop.defaultTimerTolerance = .milliseconds(100)
      let link = RunLoop.DisplayLink { _, frame in
        #expect(time.now == frame.timestamp)
        frames.append(frame)
      }
      try link.add(to: loop)
      #expect(try loop.run(for: .seconds(1)) == .timedOut)
      #expect(frames.all.count >= 59 && link.droppedFrames == 0)
    }
  }

  private final class NestingWork: Sendable {
    let loop: RunLoop
    private let times = Mutex(0)
    var count: Int { times.withLock { $0 } }

    init(_ loop: RunLoop) { self.loop = loop }

    func run() {
      times.withLock { $0 += 1 }
      try? loop.performWhenIdle {}
      _ = try? loop.run(for: .milliseconds(1))
      ask()
    }

    func ask() { try? loop.performWhenIdle { [self] in run() } }
  }

  @Test func idleWorkThatRunsTheLoopLetsItSleep() async throws {
    try await VirtualTime.run { _ in
      let work = NestingWork(.current)
      try work.loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
      work.ask()
      #expect(try work.loop.run(for: .seconds(1)) == .timedOut)
      #expect(work.count <= 2)
    }
  }

  @Test func lateFramesAreDroppedAndCounted() async throws {
    try await VirtualTime.run { time in
      let (loop, start, frames) = (RunLoop.current, time.now, Frames())
      let link = RunLoop.DisplayLink(rate: .init(frames: 100)) { _, frame in
        frames.append(frame)
        if frame.number == 2 { time.advance(by: .milliseconds(35)) }  // frames 3 and 4 pass, and 5 is late
        if frame.number == 7 { time.advance(by: .milliseconds(10)) }  // just in time
      }
      try link.add(to: loop)
      #expect(try loop.run(for: .milliseconds(95)) == .timedOut)
      #expect(frames.all.map(\.number) == [1, 2, 5, 6, 7, 8, 9])
      #expect(frames.all.map(\.dropped) == [0, 0, 2, 0, 0, 0, 0])
      for frame in frames.all { #expect(frame.timestamp == start.advanced(by: .milliseconds(10 * frame.number))) }
      #expect(link.droppedFrames == 2)
    }
  }

  @Test func aLinkPausesAndResumesOnItsGrid() async throws {
    try await VirtualTime.run { time in
      let (loop, start, frames) = (RunLoop.current, time.now, Frames())
      let link = RunLoop.DisplayLink(rate: .init(frames: 10)) { link, frame in
        frames.append(frame)
        if frame.number == 2 { link.isPaused = true }
      }
      try link.add(to: loop)
      let other = time.start {
        time.advance(by: .milliseconds(550))
        link.isPaused = false
      }
      #expect(try loop.run(for: .milliseconds(750)) == .timedOut)
      other.join()
      let dates = frames.all.map { start.duration(to: $0.timestamp) }
      #expect(dates == [.milliseconds(100), .milliseconds(200), .milliseconds(600), .milliseconds(700)])
      #expect(frames.all.map(\.number) == [1, 2, 3, 4] && link.droppedFrames == 0)
      #expect(!link.isPaused && link.isValid)
      link.invalidate()
      #expect(!link.isValid && loop.isEmpty(in: .default))
    }
  }

  @Test func aLinkRestsInOtherModesAndChangesItsRate() async throws {
    try await VirtualTime.run { time in
      let (loop, start, frames) = (RunLoop.current, time.now, Frames())
      let link = RunLoop.DisplayLink(rate: .init(frames: 10)) { _, frame in frames.append(frame) }
      try link.add(to: loop)
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in }, to: .tracking)
      #expect(try loop.run(for: .milliseconds(100)) == .timedOut)
      #expect(try loop.run(in: .tracking, for: .milliseconds(350)) == .timedOut)
      #expect(try loop.run(for: .milliseconds(60)) == .timedOut)  // late, once, and then in phase
      #expect(frames.all.map(\.dropped) == [0, 2, 0])
      #expect(
        frames.all.map { start.duration(to: $0.timestamp) } == [
          .milliseconds(100), .milliseconds(400), .milliseconds(500),
        ])
      link.rate = .init(frames: 3, per: .milliseconds(100))
      #expect(try loop.run(for: .milliseconds(95)) == .timedOut)
      #expect(
        frames.all.dropFirst(3).map { start.duration(to: $0.timestamp) } == [
          .nanoseconds(533_333_334), .nanoseconds(566_666_667), .milliseconds(600),
        ])
      #expect(link.remove(from: loop))
      time.advance(by: .seconds(1))
      #expect(try link.add(to: loop, in: .tracking))
      #expect(try loop.run(in: .tracking, for: .milliseconds(40)) == .timedOut)
      #expect(frames.all.last!.dropped == 0 && link.droppedFrames == 2)
    }
  }

  @Test func test_RLK_PATTERN_9_aSecondModeChangesNothingForTheFrames() async throws {
    try await VirtualTime.run { time in
      let (loop, start, frames) = (RunLoop.current, time.now, Frames())
      let link = RunLoop.DisplayLink(rate: .init(frames: 10)) { _, frame in frames.append(frame) }
      try link.add(to: loop)
      #expect(try loop.run(for: .milliseconds(100)) == .timedOut)
      time.advance(by: .milliseconds(350))  // frames 2 and 3 pass, and 4 is late
      #expect(try link.add(to: loop, in: .tracking))
      #expect(try loop.run(in: .tracking, for: .milliseconds(100)) == .timedOut)
      #expect(frames.all.map(\.number) == [1, 4, 5])
      #expect(frames.all.map(\.dropped) == [0, 2, 0] && link.droppedFrames == 2)
      time.advance(by: .milliseconds(170))  // 6 passes, and 7 is late
      #expect(link.remove(from: loop))
      #expect(try loop.run(in: .tracking, for: .zero) == .timedOut)
      #expect(frames.all.last!.number == 7 && link.droppedFrames == 3)
      #expect(frames.all.last!.timestamp == start.advanced(by: .milliseconds(700)))
    }
  }

  /// In no mode any more, it is in the record of the common modes still.
  @Test func aLinkThatHasLeftTheCommonModesOneByOneGoesOnFromNow() async throws {
    try await VirtualTime.run { time in
      let (loop, frames) = (RunLoop.current, Frames())
      let link = RunLoop.DisplayLink(rate: .init(frames: 10)) { _, frame in frames.append(frame) }
      try link.add(to: loop, in: .common)
      #expect(try loop.run(for: .milliseconds(100)) == .timedOut)
      #expect(link.remove(from: loop))
      time.advance(by: .seconds(1))
      #expect(try link.add(to: loop))
      #expect(try loop.run(for: .milliseconds(100)) == .timedOut)
      #expect(frames.all.map(\.dropped) == [0, 0] && link.droppedFrames == 0)
    }
  }

  @Test func aCommitIsDoneOnceBeforeTheLoopSleeps() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      let commit = try RunLoop.Commit(on: loop) { log.append("flush") }
      let source = RunLoop.Source { _ in
        log.append("changes")
        for _ in 0..<5 { commit.setNeeded() }
      }
      try loop.add(source)
      try loop.add(RunLoop.Observer(.beforeWaiting, order: 9) { _, _ in log.append("sleeps") }, to: .common)
      source.signal()
      #expect(try loop.run(for: .seconds(1)) == .timedOut)
      #expect(!commit.isNeeded)
      // A pass that has performed a source does not sleep.
      #expect(log.all.filter { $0 != "sleeps" } == ["changes", "flush"])
      let other = time.start {
        time.advance(by: .seconds(1))
        commit.setNeeded()
      }
      let slept = time.now
      let flushed = Mutex<RunLoop.Instant?>(nil)
      let second = try RunLoop.Commit(on: loop, order: .max) { flushed.withLock { $0 = time.now } }
      second.setNeeded()
      #expect(try loop.run(for: .seconds(5)) == .timedOut)
      #expect(log.all.filter { $0 == "flush" }.count == 2)
      #expect(flushed.withLock { $0 } == slept)
      other.join()
      commit.setNeeded()
      #expect(try commit.flush() && !commit.flush())
      commit.invalidate()
      commit.setNeeded()
      #expect(try loop.run(for: .zero) == .timedOut)
      #expect(log.all.filter { $0 == "flush" }.count == 3 && !commit.isValid)
    }
  }

  @Test func aCommitThatIsNeededLateIsNotSleptOver() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      let rounds = Mutex(3)
      let commits = Mutex<[RunLoop.Commit]>([])
      let first = try RunLoop.Commit(on: loop) {
        log.append("first \(start.duration(to: time.now))")
        if rounds.withLock({
          $0 -= 1; return $0 > 0
        }) {
          commits.withLock { $0[0] }.setNeeded()
        }
      }
      commits.withLock { $0 = [first] }
      let second = try RunLoop.Commit(on: loop, order: .max) { first.setNeeded() }
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(1))) { _ in second.setNeeded() })
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(60))) { _ in loop.stop() })
      #expect(try loop.run() == .stopped)
      #expect(log.all == Array(repeating: "first 1.0 seconds", count: 3))
      // And when a run ends without having slept.
      let last = try RunLoop.Commit(on: loop) { log.append("exit") }
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
      last.setNeeded()
      #expect(try loop.run(for: .zero) == .timedOut)
      #expect(log.all.last == "exit")
    }
  }

  @Test func idleWorkWaitsForAQuietPass() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      loop.addCommonMode(.tracking)
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in }, to: .common)
      let source = RunLoop.Source { _ in log.append("source") }
      try loop.add(source)
      for number in 1...3 {
        try loop.performWhenIdle {
          log.append("idle \(number)"); if number == 1 { source.signal() }
        }
      }
      try loop.perform { log.append("block") }
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in log.append("timer") })
      #expect(try loop.run(in: .tracking, for: .seconds(1)) == .timedOut)
      #expect(log.all == [])
      #expect(try loop.run(for: .seconds(1)) == .timedOut)
      #expect(log.all == ["block", "timer", "idle 1", "source", "idle 2", "idle 3"])
      let asked = time.now
      let other = time.start {
        time.advance(by: .seconds(3))
        try? loop.performWhenIdle(in: .common) { log.append("\(asked.duration(to: time.now))") }
      }
      #expect(try loop.run(in: .tracking, for: .seconds(5)) == .timedOut)
      #expect(log.all.last == "3.0 seconds")
      other.join()
    }
  }

  @Test func idleWorkThatAsksForItselfLetsTheLoopSleep() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      let passes = Mutex(0)
      @Sendable func again() {
        log.append("\(start.duration(to: time.now))")
        try? loop.performWhenIdle(block: again)
      }
      try loop.performWhenIdle(block: again)
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.withLock { $0 += 1 } })
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(1)), interval: .seconds(1)) { _ in })
      #expect(try loop.run(for: .milliseconds(3500)) == .timedOut)
      #expect(log.all == ["0.0 seconds", "1.0 seconds", "2.0 seconds", "3.0 seconds"])
      #expect(passes.withLock { $0 } < 12)
    }
  }

  @Test func allModesInTurn() async throws {
    try await VirtualTime.run { time in
      let (loop, log, start) = (RunLoop.current, Log(), time.now)
      let isDone = Mutex(false)
      for (index, mode) in ([.default, .tracking, "panel"] as [RunLoop.Mode]).enumerated() {
        let date = start.advanced(by: .milliseconds(5 * (3 - index)))
        try loop.add(
          RunLoop.Timer(fireDate: date) { _ in
            log.append(loop.currentMode!.rawValue)
            if mode == .default { isDone.withLock { $0 = true } }
          }, to: mode)
      }
      let outer = RunLoop.Source { source in
        log.append("begins")
        #expect((try? loop.runAllModes { isDone.withLock { $0 } }) == true)
        log.append("ends")
      }
      try loop.add(outer, to: "outer")
      outer.signal()
      #expect(try loop.run(in: "outer", for: .zero) == .timedOut)
      #expect(log.all == ["begins", "panel", "UITrackingRunLoopMode", "kCFRunLoopDefaultMode", "ends"])
      loop.remove(outer, from: "outer")
      #expect(try loop.runAllModes { false } == false)  // nothing left to wait for
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in loop.stop() }, to: "panel")
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
      #expect(try loop.runAllModes { false } == false)
    }
  }

  /// A mode's turn lasts as long as its slice, whatever waits in the others.
  @Test func eachModeHasItsSlice() async throws {
    try await VirtualTime.run { time in
      let (loop, log, start) = (RunLoop.current, Log(), time.now)
      for (mode, date) in [(.default, 25), ("panel", 1)] as [(RunLoop.Mode, Int)] {
        try loop.add(
          RunLoop.Timer(fireDate: start.advanced(by: .seconds(date)), interval: .seconds(1000)) { _ in
            log.append("\(mode.rawValue) at \(start.duration(to: time.now))")
          }, to: mode)
      }
      #expect(try loop.runAllModes(slice: .seconds(10)) { log.all.count == 2 })
      #expect(log.all == ["panel at 10.0 seconds", "kCFRunLoopDefaultMode at 25.0 seconds"])
    }
  }

  /// In a process of its own: it has a signal handler.
  @Test func allModesInTurnAreRefusedOnASignalStack() async {
    await #expect(processExitsWith: .success) { try runAllModesOnASignalStack() }
  }
}

private let refusals = Atomic<Int>(0)

private func runAllModesOnASignalStack() throws {
  precondition(refusals.load(ordering: .relaxed) == 0)  // made before the handler needs it
  var stack = stack_t()
  stack.ss_size = 1 << 18
  stack.ss_sp = malloc(stack.ss_size)
  precondition(sigaltstack(&stack, nil) == 0)
  defer {
    var none = stack_t()
    none.ss_flags = Int32(SS_DISABLE)
    precondition(sigaltstack(&none, nil) == 0)
    free(stack.ss_sp)
  }
  var action = sigaction()
  action.__sigaction_handler.sa_handler = { _ in
    do {
      try RunLoop.current.runAllModes { true }
      exit(3)
    } catch {
      guard error as? RunLoopError == .inSignalHandler, "\(error)".contains("signal source") else { exit(4) }
      refusals.add(1, ordering: .relaxed)
    }
  }
  action.sa_flags = SA_ONSTACK
  sigaction(SIGUSR1, &action, nil)
  // The thread may be one of libdispatch's, which block most signals.
  var signals = sigset_t()
  sigemptyset(&signals)
  sigaddset(&signals, SIGUSR1)
  precondition(pthread_sigmask(SIG_UNBLOCK, &signals, nil) == 0)
  let loop = RunLoop.current
  raise(SIGUSR1)
  precondition(refusals.load(ordering: .relaxed) == 1)
  let isDone = try loop.runAllModes { true }
  precondition(isDone)
}
