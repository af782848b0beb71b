import ExampleSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import Synchronization

/// The pieces of docs/guide/patterns.md and docs/guide/clocks.md, each a small program that checks what it prints.
@main
struct Patterns {
  static func main() {
    StandardOutput.watch()
    Ending.ofErrors {
      try RunLoop.Signal.block(.user1)
      try clocks()
      try frames()
      try commit()
      try groupCommit()
      try idle()
      try allModes()
      try allModesForASignal()
      try deadline()
      try label()
      try hosted()
      try statistics()
      try slowCallouts()
    }
  }

  static func say(_ text: String, if isTrue: Bool) {
    print(isTrue ? text : "NOT TRUE: \(text)")
    if !isTrue { Ending.fail("NO \(text)") }
  }

  static func clocks() throws {
    let loop = RunLoop.current
    let fired = Mutex<[String]>([])
    let alarm = RunLoop.Timer(after: .milliseconds(30), on: .wall) { _ in
      fired.withLock { $0.append("alarm") }
      loop.stop()
    }
    let lease = RunLoop.Timer(after: .milliseconds(20), on: .continuous) { _ in
      fired.withLock { $0.append("lease") }
    }
    let retry = RunLoop.Timer(after: .milliseconds(10)) { _ in
      fired.withLock { $0.append("retry") }
    }
    for timer in [alarm, lease, retry] { try loop.add(timer) }
    let isStopped = try loop.run(for: .seconds(30)) == .stopped
    say("a timer on each clock", if: isStopped && fired.withLock { $0 } == ["retry", "lease", "alarm"])
  }

  static func frames() throws {
    let loop = RunLoop.current
    let dropped = Mutex(0)
    let link = RunLoop.DisplayLink(rate: .init(frames: 100)) { link, frame in
      if frame.number == 3 { usleep(45_000) }  // something slow: frames pass
      dropped.withLock { $0 += frame.dropped }
      if frame.number >= 10 {
        link.invalidate()
        loop.stop()
      }
    }
    try link.add(to: loop, in: .common)
    let isStopped = try loop.run(for: .seconds(30)) == .stopped
    let counted = dropped.withLock { $0 }
    say("frames at 100 Hz, late ones dropped", if: isStopped && counted >= 3 && counted == link.droppedFrames)
  }

  static func commit() throws {
    let loop = RunLoop.current
    let changes = Mutex(0)
    let written = Mutex<[Int]>([])
    let commit = try RunLoop.Commit(on: loop) {
      let all = changes.withLock { $0 }
      written.withLock { $0.append(all) }
    }
    let change = RunLoop.Source { _ in
      for _ in 0..<5 {
        changes.withLock { $0 += 1 }
        commit.setNeeded()
      }
    }
    try loop.add(change)
    change.signal()
    try loop.run(for: .milliseconds(5))
    loop.remove(change)
    commit.invalidate()
    say("five changes, one commit", if: written.withLock { $0 } == [5])
  }

  /// Three clients have written; their requests are served one a pass, and what they have changed is stored once.
  static func groupCommit() throws {
    let loop = RunLoop.current
    let log = Mutex<[String]>([])
    let commit = try RunLoop.Commit(on: loop, at: .afterReady) {
      log.withLock { $0.append("stored") }
      loop.stop()
    }
    let clients = try (1...3).map { number in
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { throw RunLoopError.system(errno, call: "pipe") }
      write(ends[1], "x", 1)
      let (reading, writing) = (ends[0], ends[1])
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: reading, interest: .readable) { source, _ in
        log.withLock { $0.append("request \(number)") }
        commit.setNeeded()
        source.invalidate()
        close(reading)
        close(writing)
      }
      try loop.add(source)
      return source
    }
    let isStopped = try loop.run(for: .seconds(30)) == .stopped
    commit.invalidate()
    let isTrue = log.withLock { $0 } == ["request 1", "request 2", "request 3", "stored"]
    say("three requests, one commit after them", if: isStopped && isTrue && clients.allSatisfy { !$0.isValid })
  }

  static func idle() throws {
    let loop = RunLoop.current
    let order = Mutex<[String]>([])
    try loop.performWhenIdle { @Sendable in
      order.withLock { $0.append("index") }
      loop.stop()
    }
    try loop.perform { @Sendable in order.withLock { $0.append("request") } }
    try loop.run(for: .seconds(30))
    say("what can wait comes last", if: order.withLock { $0 } == ["request", "index"])
  }

  static func allModes() throws {
    let loop = RunLoop.current
    let answered = Atomic(false)
    // The answer comes in a mode of its own; the callout that needs it does not know in which.
    try loop.add(
      RunLoop.Timer(after: .milliseconds(5)) { _ in answered.store(true, ordering: .relaxed) },
      to: "panel")
    let isDone = Mutex(false)
    try loop.perform { @Sendable in
      let hasAnswer = try? loop.runAllModes { answered.load(ordering: .relaxed) }
      isDone.withLock { $0 = hasAnswer == true }
      loop.stop()
    }
    try loop.run(for: .seconds(30))
    say("every mode in turn, until the answer is there", if: isDone.withLock { $0 })
  }

  /// The safe form for a signal: its callout is an ordinary one.
  static func allModesForASignal() throws {
    let loop = RunLoop.current
    let saved = Atomic(false)
    let isDone = Mutex(false)
    let signal = try RunLoop.SignalSource(.user1) { _, _ in
      let hasSaved = try? loop.runAllModes { saved.load(ordering: .relaxed) }
      isDone.withLock { $0 = hasSaved == true }
      loop.stop()
    }
    try loop.add(signal, to: .common)
    try loop.add(
      RunLoop.Timer(after: .milliseconds(5)) { _ in saved.store(true, ordering: .relaxed) },
      to: "panel")
    kill(getpid(), SIGUSR1)
    try loop.run(for: .seconds(30))
    signal.invalidate()
    say("every mode in turn, because of a signal", if: isDone.withLock { $0 })
  }

  static func deadline() throws {
    let loop = RunLoop.current
    let fired = Mutex(0)
    let idle = RunLoop.Timer(rearmable: .distantFuture) { _ in
      fired.withLock { $0 += 1 }
      loop.stop()
    }
    try loop.add(idle)
    for _ in 1...2 {
      idle.rearm(after: .seconds(300))
      idle.rearm(after: .milliseconds(2))
      try loop.run(for: .seconds(30))
    }
    let hasRested = idle.isValid && idle.fireDate == .distantFuture
    idle.invalidate()
    say("a deadline that is set again", if: hasRested && fired.withLock { $0 } == 2)
  }

  static func label() throws {
    let loop = RunLoop.current
    let timer = RunLoop.Timer(fireDate: .distantFuture) { _ in }
    timer.label = "session 4711: idle"
    try loop.add(timer)
    let text = loop.description
    timer.invalidate()
    say("a loop names what it holds", if: text.contains("<timer \"session 4711: idle\" order 0, never"))
  }

  /// Somebody else's loop, here poll(2), sleeps for this one as well.
  static func hosted() throws {
    let loop = RunLoop.current
    let served = Mutex<[String]>([])
    try loop.add(
      RunLoop.Timer(after: .milliseconds(2)) { _ in served.withLock { $0.append("timer") } })
    let descriptor = try loop.hostDescriptor().fileDescriptor
    while served.withLock({ $0.count }) < 2 {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if try !loop.prepareToWait() { poll(&entry, 1, 30_000) }
      try loop.runPendingWork()
      if served.withLock({ $0 == ["timer"] }) {
        try loop.perform { @Sendable in served.withLock { $0.append("block") } }
      }
    }
    say("a loop inside another one", if: served.withLock { $0 } == ["timer", "block"])
  }

  static func statistics() throws {
    let loop = RunLoop.current
    loop.collectsStatistics = true
    loop.defaultTimerTolerance = .milliseconds(50)
    let start = RunLoop.Instant.now
    let left = Mutex(10)
    for index in 1...10 {
      try loop.add(
        RunLoop.Timer(fireDate: start.advanced(by: .milliseconds(10 + index))) { _ in
          let isLast = left.withLock {
            $0 -= 1
            return $0 == 0
          }
          if isLast { loop.stop() }
        })
    }
    try loop.run(for: .seconds(30))
    let statistics = loop.resetStatistics()
    let isTrue =
      statistics.timersFired == 10 && statistics.wakesSaved == 9 && statistics.sleepTime <= statistics.runTime
    say("ten timers, one wake", if: isTrue)
  }

  static func slowCallouts() throws {
    let loop = RunLoop.current
    let told = Mutex<[RunLoop.SlowCallout]>([])
    loop.reportSlowCallouts(longerThan: .milliseconds(20)) { slow in told.withLock { $0.append(slow) } }
    let source = RunLoop.Source { _ in
      let end = RunLoop.Instant.now.advanced(by: .milliseconds(30))
      while RunLoop.Instant.now < end {}
    }
    source.label = "session 4711: compress"
    try loop.add(source)
    source.signal()
    try loop.run(for: .seconds(30), returnAfterSourceHandled: true)
    loop.stopReportingSlowCallouts()
    source.invalidate()
    let isTold = told.withLock { told in
      told.contains { $0.kind == .source && $0.name == "session 4711: compress" && $0.duration > .milliseconds(20) }
    }
    say("a callout that takes too long is told of", if: isTold)
  }
}
