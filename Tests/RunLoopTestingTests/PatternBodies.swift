import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization

/// What happens in the processes of `PatternTests`.
extension Bodies {
  private final class Frames: Sendable {
    private let frames = Mutex<[RunLoop.DisplayLink.Frame]>([])

    func append(_ frame: RunLoop.DisplayLink.Frame) { frames.withLock { $0.append(frame) } }
    var all: [RunLoop.DisplayLink.Frame] { frames.withLock { $0 } }
  }

  static func framesLieOnAGridThatDoesNotMove() throws {
    let time = VirtualTime.install()
    let (loop, start, frames) = (RunLoop.current, time.now, Frames())
    let link = RunLoop.DisplayLink { link, frame in
      require(time.now == frame.timestamp)
      if frame.number % 3600 == 0 || frame.number <= 3 { frames.append(frame) }
    }
    try link.add(to: loop)
    require(try loop.run(for: .seconds(3600)) == .timedOut)
    require(frames.all.count == 3 + 60)
    for frame in frames.all {
      let number = frame.number
      require(start.duration(to: frame.timestamp) == .nanoseconds((number * 1_000_000_000 + 59) / 60))
      require(frame.targetTimestamp == start.advanced(by: .nanoseconds(((number + 1) * 1_000_000_000 + 59) / 60)))
    }
    require(link.droppedFrames == 0)
  }

  static func aDefaultToleranceDelaysNoFrame() throws {
    let time = VirtualTime.install()
    let (loop, frames) = (RunLoop.current, Frames())
    loop.defaultTimerTolerance = .milliseconds(100)
    let link = RunLoop.DisplayLink { _, frame in
      require(time.now == frame.timestamp)
      frames.append(frame)
    }
    try link.add(to: loop)
    require(try loop.run(for: .seconds(1)) == .timedOut)
    require(frames.all.count >= 59 && link.droppedFrames == 0)
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

  static func idleWorkThatRunsTheLoopLetsItSleep() throws {
    _ = VirtualTime.install()
    let work = NestingWork(.current)
    try work.loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
    work.ask()
    require(try work.loop.run(for: .seconds(1)) == .timedOut)
    require(work.count <= 2)
  }

  static func lateFramesAreDroppedAndCounted() throws {
    let time = VirtualTime.install()
    let (loop, start, frames) = (RunLoop.current, time.now, Frames())
    let link = RunLoop.DisplayLink(rate: .init(framesPerSecond: 100)) { _, frame in
      frames.append(frame)
      if frame.number == 2 { time.advance(by: .milliseconds(35)) }  // frames 3 and 4 pass, and 5 is late
      if frame.number == 7 { time.advance(by: .milliseconds(10)) }  // just in time
    }
    try link.add(to: loop)
    require(try loop.run(for: .milliseconds(95)) == .timedOut)
    require(frames.all.map(\.number) == [1, 2, 5, 6, 7, 8, 9])
    require(frames.all.map(\.dropped) == [0, 0, 2, 0, 0, 0, 0])
    for frame in frames.all { require(frame.timestamp == start.advanced(by: .milliseconds(10 * frame.number))) }
    require(link.droppedFrames == 2)
  }

  static func aLinkPausesAndResumesOnItsGrid() throws {
    let time = VirtualTime.install()
    let (loop, start, frames) = (RunLoop.current, time.now, Frames())
    let link = RunLoop.DisplayLink(rate: .init(framesPerSecond: 10)) { link, frame in
      frames.append(frame)
      if frame.number == 2 { link.isPaused = true }
    }
    try link.add(to: loop)
    let other = time.start {
      time.advance(by: .milliseconds(550))
      link.isPaused = false
    }
    require(try loop.run(for: .milliseconds(750)) == .timedOut)
    other.join()
    let dates = frames.all.map { start.duration(to: $0.timestamp) }
    require(dates == [.milliseconds(100), .milliseconds(200), .milliseconds(600), .milliseconds(700)])
    require(frames.all.map(\.number) == [1, 2, 3, 4] && link.droppedFrames == 0)
    require(!link.isPaused && link.isValid)
    link.invalidate()
    require(!link.isValid && loop.wouldFinish(in: .default))
  }

  static func aLinkRestsInOtherModesAndChangesItsRate() throws {
    let time = VirtualTime.install()
    let (loop, start, frames) = (RunLoop.current, time.now, Frames())
    let link = RunLoop.DisplayLink(rate: .init(framesPerSecond: 10)) { _, frame in frames.append(frame) }
    try link.add(to: loop)
    try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in }, to: .tracking)
    require(try loop.run(for: .milliseconds(100)) == .timedOut)
    require(try loop.run(in: .tracking, for: .milliseconds(350)) == .timedOut)
    require(try loop.run(for: .milliseconds(60)) == .timedOut)  // late, once, and then in phase
    require(frames.all.map(\.dropped) == [0, 2, 0])
    require(
      frames.all.map { start.duration(to: $0.timestamp) } == [
        .milliseconds(100), .milliseconds(400), .milliseconds(500),
      ])
    link.rate = .init(frames: 3, per: .milliseconds(100))
    require(try loop.run(for: .milliseconds(95)) == .timedOut)
    require(
      frames.all.dropFirst(3).map { start.duration(to: $0.timestamp) } == [
        .nanoseconds(533_333_334), .nanoseconds(566_666_667), .milliseconds(600),
      ])
    require(link.remove(from: loop))
    time.advance(by: .seconds(1))
    require(try link.add(to: loop, in: .tracking))
    require(try loop.run(in: .tracking, for: .milliseconds(40)) == .timedOut)
    require(frames.all.last!.dropped == 0 && link.droppedFrames == 2)
  }

  static func aCommitIsDoneOnceBeforeTheLoopSleeps() throws {
    let time = VirtualTime.install()
    let (loop, log) = (RunLoop.current, Log())
    let commit = try RunLoop.Commit(on: loop) { log.append("flush") }
    let source = RunLoop.Source { _ in
      log.append("changes")
      for _ in 0..<5 { commit.setNeeded() }
    }
    try loop.add(source)
    try loop.add(RunLoop.Observer(.beforeWaiting, order: 9) { _, _ in log.append("sleeps") }, to: .common)
    source.signal()
    require(try loop.run(for: .seconds(1)) == .timedOut)
    require(!commit.isNeeded)
    // A pass that has performed a source does not sleep.
    require(log.all.filter { $0 != "sleeps" } == ["changes", "flush"])
    let other = time.start {
      time.advance(by: .seconds(1))
      commit.setNeeded()
    }
    let slept = time.now
    let flushed = Mutex<RunLoop.Instant?>(nil)
    let second = try RunLoop.Commit(on: loop, order: .max) { flushed.withLock { $0 = time.now } }
    second.setNeeded()
    require(try loop.run(for: .seconds(5)) == .timedOut)
    require(log.all.filter { $0 == "flush" }.count == 2)
    require(flushed.withLock { $0 } == slept)
    other.join()
    commit.setNeeded()
    require(try commit.flush() && !commit.flush())
    commit.invalidate()
    commit.setNeeded()
    require(try loop.run(for: .zero) == .timedOut)
    require(log.all.filter { $0 == "flush" }.count == 3 && !commit.isValid)
  }

  static func aCommitThatIsNeededLateIsNotSleptOver() throws {
    let time = VirtualTime.install()
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
    require(try loop.run() == .stopped)
    require(log.all == Array(repeating: "first 1.0 seconds", count: 3))
    // And when a run ends without having slept.
    let last = try RunLoop.Commit(on: loop) { log.append("exit") }
    try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
    last.setNeeded()
    require(try loop.run(for: .zero) == .timedOut)
    require(log.all.last == "exit")
  }

  static func idleWorkWaitsForAQuietPass() throws {
    let time = VirtualTime.install()
    let (loop, log) = (RunLoop.current, Log())
    loop.makeCommon(.tracking)
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
    require(try loop.run(in: .tracking, for: .seconds(1)) == .timedOut)
    require(log.all == [])
    require(try loop.run(for: .seconds(1)) == .timedOut)
    require(log.all == ["block", "timer", "idle 1", "source", "idle 2", "idle 3"])
    let asked = time.now
    let other = time.start {
      time.advance(by: .seconds(3))
      try? loop.performWhenIdle(in: .common) { log.append("\(asked.duration(to: time.now))") }
    }
    require(try loop.run(in: .tracking, for: .seconds(5)) == .timedOut)
    require(log.all.last == "3.0 seconds")
    other.join()
  }

  static func idleWorkThatAsksForItselfLetsTheLoopSleep() throws {
    let time = VirtualTime.install()
    let (loop, start, log) = (RunLoop.current, time.now, Log())
    let passes = Mutex(0)
    @Sendable func again() {
      log.append("\(start.duration(to: time.now))")
      try? loop.performWhenIdle(block: again)
    }
    try loop.performWhenIdle(block: again)
    try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.withLock { $0 += 1 } })
    try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(1)), interval: .seconds(1)) { _ in })
    require(try loop.run(for: .milliseconds(3500)) == .timedOut)
    require(log.all == ["0.0 seconds", "1.0 seconds", "2.0 seconds", "3.0 seconds"])
    require(passes.withLock { $0 } < 12)
  }

  static func allModesInTurn() throws {
    let time = VirtualTime.install()
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
      require((try? loop.runAllModes { isDone.withLock { $0 } }) == true)
      log.append("ends")
    }
    try loop.add(outer, to: "outer")
    outer.signal()
    require(try loop.run(in: "outer", for: .zero) == .timedOut)
    require(log.all == ["begins", "panel", "UITrackingRunLoopMode", "kCFRunLoopDefaultMode", "ends"])
    loop.remove(outer, from: "outer")
    require(try loop.runAllModes { false } == false)  // nothing left to wait for
    try loop.add(RunLoop.Timer(fireDate: .now) { _ in loop.stop() }, to: "panel")
    try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
    require(try loop.runAllModes { false } == false)
  }

  private static let refusals = Atomic<Int>(0)

  static func allModesInTurnAreRefusedOnASignalStack() throws {
    require(refusals.load(ordering: .relaxed) == 0)  // made before the handler needs it
    var stack = stack_t()
    stack.ss_size = 1 << 18
    stack.ss_sp = malloc(stack.ss_size)
    require(sigaltstack(&stack, nil) == 0)
    defer {
      var none = stack_t()
      none.ss_flags = Int32(SS_DISABLE)
      require(sigaltstack(&none, nil) == 0)
      free(stack.ss_sp)
    }
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in
      do {
        try RunLoop.current.runAllModes { true }
        exit(3)
      } catch {
        guard case .inSignalHandler? = error as? RunLoopError, "\(error)".contains("signal source") else { exit(4) }
        Bodies.refusals.add(1, ordering: .relaxed)
      }
    }
    action.sa_flags = SA_ONSTACK
    sigaction(SIGUSR1, &action, nil)
    // The thread may be one of libdispatch's, which block most signals.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGUSR1)
    require(pthread_sigmask(SIG_UNBLOCK, &signals, nil) == 0)
    let loop = RunLoop.current
    raise(SIGUSR1)
    require(refusals.load(ordering: .relaxed) == 1)
    require(try loop.runAllModes { true })
  }
}
