import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Timers whose timerfd cannot be made, or was closed by other code.
final class TimerDescriptorTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }
  override func tearDown() { CountingKernel.script = CountingKernel.Script() }

  /// One that fires in a millisecond, and again each millisecond.
  private static func timer(_ clock: String, _ body: @escaping @Sendable () -> Void) -> RunLoop.Timer {
    let (delay, interval) = (Duration.milliseconds(1), Duration.milliseconds(1))
    switch clock {
    case "wall": return .init(fireDate: RunLoop.WallInstant.now.advanced(by: delay), interval: interval) { _ in body() }
    case "continuous":
      return .init(fireDate: RunLoop.ContinuousInstant.now.advanced(by: delay), interval: interval) { _ in body() }
    default: return .init(fireDate: .now.advanced(by: delay), interval: interval) { _ in body() }
    }
  }

  private static let clocks = ["suspending", "continuous", "wall"]

  /// The timerfd of a clock, as the mode's part of the description shows it.
  private static func timerfd(of clock: String, in mode: RunLoop.Mode, _ loop: RunLoop) -> Int32? {
    let text = loop.description.components(separatedBy: "\n  mode \(mode.rawValue)").last ?? ""
    let label = clock == "suspending" ? ", timer port: descriptor " : "timer port of the \(clock) clock: descriptor "
    let parts = text.components(separatedBy: label)
    return parts.count < 2 ? nil : Int32(parts[1].prefix { $0.isNumber })
  }

  // MARK: None to be had

  func test_RLK_TIMER_10_theWaitCarriesADateThatHasNoDescriptor() {
    for clock in Self.clocks {
      for isRegistration in [false, true] {
        onThread {
          let (loop, fired) = (RunLoop.current, Box(0))
          try loop.add(RunLoop.Source { _ in })
          try loop.run(for: .zero)  // its port set
          if isRegistration { CountingKernel.script.control = { -ENOSPC } }
          if !isRegistration { CountingKernel.script.timerfd = { -EMFILE } }
          XCTAssertTrue(
            try loop.add(
              Self.timer(clock) {
                fired.value += 1
                if fired.value == 10 { loop.stop() }
              }))
          let counts = try CountingKernel.count { XCTAssertEqual(try loop.run(), .stopped) }
          XCTAssertEqual(fired.value, 10)
          XCTAssertLessThanOrEqual(counts.waits, 25, clock)
          CountingKernel.script = CountingKernel.Script()
        }
      }
    }
  }

  /// Each wait is over at once, and then its time has passed. How long they were, in nanoseconds.
  private static func playWaits(_ whenWaiting: @escaping @Sendable () -> Void = {}) -> Box<[UInt64]> {
    let (waits, ahead) = (Box<[UInt64]>([]), Box<UInt64>(0))
    CountingKernel.script.timerfd = { -EMFILE }
    CountingKernel.script.now = { $0 + ahead.value }
    CountingKernel.script.wait = { deadline in
      let now = RunLoop.Instant.now.nanoseconds
      guard deadline > now else { return nil }
      waits.update { $0.append(deadline - now) }
      ahead.value += deadline - now
      whenWaiting()
      return 0
    }
    return waits
  }

  /// A wait does not follow a clock that is set, or that goes on in a suspended machine: so it is a second at most. One for
  /// a date of the loop's own clock lasts until then.
  func test_RLK_TIMER_10_aFarDateOfAnotherClockIsLookedAtEachSecond() {
    for clock in RunLoop.TimerClock.allCases {
      onThread {
        let loop = RunLoop.current
        try loop.add(RunLoop.Source { _ in })
        try loop.run(for: .zero)  // its port set
        let waits = Self.playWaits()
        try loop.add(RunLoop.Timer(after: .seconds(3), on: clock) { _ in loop.stop() })
        XCTAssertEqual(try loop.run(), .stopped)
        CountingKernel.script = CountingKernel.Script()
        if clock == .suspending {
          XCTAssertEqual(waits.value.count, 1)
        } else {
          XCTAssertTrue((3...5).contains(waits.value.count), "\(waits.value)")
          XCTAssertLessThanOrEqual(waits.value.max() ?? 0, 1_000_000_000)
        }
      }
    }
  }

  func test_RLK_TIMER_10_aWallClockThatIsSetForwardIsNoticedInASecond() {
    onThread {
      let (loop, set) = (RunLoop.current, Box<UInt64>(0))
      try loop.add(RunLoop.Source { _ in })
      try loop.run(for: .zero)  // its port set
      let waits = Self.playWaits { set.value = 7_200_000_000_000 }
      let now = CountingKernel.script.now!
      // The other clocks count from the machine's start.
      CountingKernel.script.now = { now($0) + ($0 > 1_000_000_000_000_000_000 ? set.value : 0) }
      try loop.add(RunLoop.Timer(after: .seconds(3600), on: .wall) { _ in loop.stop() })
      XCTAssertEqual(try loop.run(), .stopped)
      CountingKernel.script = CountingKernel.Script()
      XCTAssertEqual(waits.value.count, 1)
      XCTAssertLessThanOrEqual(waits.value.max() ?? 0, 1_000_000_000)
    }
  }

  /// As soon as there is a descriptor again the timerfd is made.
  func test_RLK_TIMER_11_aDescriptorThatIsFreeAgainIsTaken() {
    for clock in Self.clocks {
      onThread {
        let (loop, fired) = (RunLoop.current, Box(0))
        CountingKernel.script.timerfd = { -EMFILE }
        try loop.add(
          Self.timer(clock) {
            fired.value += 1
            if fired.value == 3 { CountingKernel.script.timerfd = nil }
            if fired.value == 6 { loop.stop() }
          })
        XCTAssertNil(Self.timerfd(of: clock, in: .default, loop))
        XCTAssertEqual(try loop.run(), .stopped)
        XCTAssertNotNil(Self.timerfd(of: clock, in: .default, loop))
      }
    }
  }

  /// Another thread's date wakes a loop that sleeps without one.
  func test_RLK_TIMER_10_aDateOfAnotherThreadEndsTheSleep() {
    for clock in Self.clocks {
      let (shared, ready) = (Box<RunLoop?>(nil), Gate())
      CountingKernel.script.timerfd = { -EMFILE }
      let owner = TestThread {
        let loop = RunLoop.current
        _ = try? loop.add(RunLoop.Source { _ in })
        shared.value = loop
        ready.open()
        XCTAssertEqual(try? loop.run(), .stopped)
      }
      ready.wait()
      let loop = shared.value!
      yieldUntil(loop.isWaiting)
      XCTAssertNil(thrown { try loop.add(Self.timer(clock) { loop.stop() }) })
      owner.join()
      CountingKernel.script.timerfd = nil
    }
  }

  /// A descriptor that is always ready leaves it its turn, and it does the same.
  func test_RLK_TIMER_12_readyPortsAndACarriedTimerTakeTurns() {
    onThread {
      let (loop, fired, called, pipe) = (RunLoop.current, Box(0), Box(0), Pipe())
      pipe.send("nobody reads this")
      CountingKernel.script.timerfd = { -EMFILE }
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in
        called.value += 1
      }
      try loop.add(source)
      let timer = RunLoop.Timer(rearmable: .now) { timer in
        fired.value += 1
        if fired.value == 20 { loop.stop() } else { timer.rearm(after: .zero) }
      }
      try loop.add(timer)
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      XCTAssertEqual(fired.value, 20)
      XCTAssertGreaterThanOrEqual(called.value, 10)
      XCTAssertLessThanOrEqual(called.value, 45)
      source.invalidate()
      pipe.closeBoth()
    }
  }

  /// A host sleeps for nothing but descriptors: dates of other clocks go by the timerfd that it has.
  func test_RLK_HOST_23_aHostIsWokenForADateWithoutADescriptor() {
    for clock in Self.clocks {
      onThread {
        let (loop, fired) = (RunLoop.current, Box(0))
        let host = try loop.hostDescriptor().fileDescriptor
        CountingKernel.script.timerfd = { -EMFILE }
        try loop.add(Self.timer(clock) { fired.value += 1 })
        var iterations = 0
        while fired.value < 5 {
          iterations += 1
          if try !loop.prepareToWait() { XCTAssertTrue(waitReadable(host)) }
          try loop.runPendingWork()
        }
        XCTAssertLessThanOrEqual(iterations, 25, clock)
        CountingKernel.script = CountingKernel.Script()
      }
    }
    onThread {
      CountingKernel.script.timerfd = { -EMFILE }
      let error = thrown { try RunLoop.current.hostDescriptor() }
      XCTAssertEqual(error, .system(EMFILE))
      XCTAssertEqual(error?.call, "timerfd_create")
    }
  }

  /// By the host's own code, after the preparation: the expiry ends the sleep.
  func test_RLK_HOST_25_aDateThatHasComeEndsTheSleepOfAHost() {
    onThread {
      let (loop, fired) = (RunLoop.current, Box(0))
      let host = try loop.hostDescriptor().fileDescriptor
      XCTAssertFalse(try loop.prepareToWait())
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in fired.value += 1 })
      XCTAssertTrue(waitReadable(host))
      try loop.runPendingWork()
      XCTAssertEqual(fired.value, 1)
    }
  }

  // MARK: Closed by other code

  private enum Loss: CaseIterable { case closed, replaced, replacedByFile }

  private static func lose(_ number: Int32?, _ loss: Loss) {
    guard let number else { return XCTFail("no timerfd") }
    switch loss {
    case .closed: close(number)
    case .replaced:
      let other = EventCounter()
      dup2(other.descriptor, number)
      withExtendedLifetime(other) {}
    case .replacedByFile:
      let other = open("/dev/null", O_RDONLY)
      dup2(other, number)
      close(other)
    }
  }

  /// What other code has put there stays open, so that the number is not free for another timerfd.
  private static func checkLeftAlone(_ number: Int32?, _ loss: Loss, _ current: Int32?) {
    guard loss != .closed, let number else { return }
    XCTAssertNotEqual(current, number)
    XCTAssertEqual(close(number), 0)
  }

  func test_RLK_RUN_11_aLossIsNoticedBeforeTheFirstRunAndBetweenRuns() {
    for (clock, mode) in Self.clocks.flatMap({ clock in [RunLoop.Mode.default, "another"].map { (clock, $0) } }) {
      for (loss, isArmed, limit) in Loss.allCases.flatMap({ loss in
        [true, false].flatMap { armed in [Duration?.none, .seconds(30)].map { (loss, armed, $0) } }
      }) {
        for hasRun in [false, true] {
          onThread {
            let (loop, counter) = (RunLoop.current, EventCounter())
            let fired = Box(0)
            if isArmed { try loop.add(PortSourceFactory.make(counter) {}, to: mode) }
            let timer = Self.timer(clock) {
              fired.value += 1
              loop.stop()
            }
            try loop.add(timer, to: mode)
            if hasRun { XCTAssertEqual(try loop.run(in: mode, for: limit), .stopped) }
            let number = Self.timerfd(of: clock, in: mode, loop)
            Self.lose(number, loss)
            let counts = try CountingKernel.count { XCTAssertEqual(try loop.run(in: mode, for: limit), .stopped) }
            XCTAssertLessThanOrEqual(counts.waits, 4)
            XCTAssertEqual(try loop.run(in: mode, for: limit), .stopped)
            XCTAssertEqual(fired.value, hasRun ? 3 : 2, "\(clock) \(mode) \(loss) \(isArmed)")
            Self.checkLeftAlone(number, loss, Self.timerfd(of: clock, in: mode, loop))
          }
        }
      }
    }
  }

  /// In a callout, also of a nested run, and in a run of another mode: each has its own.
  func test_RLK_RUN_11_aLossInACalloutIsNoticed() {
    for loss in Loss.allCases {
      for isNested in [false, true] {
        onThread {
          let (loop, fired) = (RunLoop.current, Box(0))
          let number = Box<Int32?>(nil)
          let timer = RunLoop.Timer(fireDate: .now, interval: .milliseconds(1)) { _ in
            fired.value += 1
            guard fired.value == 1 else { return loop.stop() }
            number.value = Self.timerfd(of: "suspending", in: .default, loop)
            if isNested {
              _ = try? loop.add(
                RunLoop.Timer(fireDate: .now) { _ in Self.lose(number.value, loss) }, to: "nested")
              _ = try? loop.run(in: "nested", for: .seconds(30))
            } else {
              Self.lose(number.value, loss)
            }
          }
          try loop.add(timer)
          XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
          XCTAssertEqual(fired.value, 2)
          Self.checkLeftAlone(number.value, loss, Self.timerfd(of: "suspending", in: .default, loop))
        }
      }
    }
  }

  /// While it is armed for a later date, in the callout of another item: a run with a limit fires it in time.
  func test_RLK_RUN_11_aWaitWithALimitCarriesTheArmedDate() {
    for loss in Loss.allCases {
      onThread {
        let (loop, number) = (RunLoop.current, Box<Int32?>(nil))
        try loop.add(RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(20))) { _ in loop.stop() })
        let source = RunLoop.Source { _ in
          number.value = Self.timerfd(of: "suspending", in: .default, loop)
          Self.lose(number.value, loss)
        }
        try loop.add(source)
        source.signal()
        let counts = try CountingKernel.count { XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped) }
        XCTAssertLessThanOrEqual(counts.waits, 4)
        if loss != .closed { close(number.value!) }
      }
    }
  }

  /// A host: the next date makes another timerfd; without one the call throws, and nothing spins.
  func test_RLK_HOST_24_aHostedLoopMakesALostTimerfdAgain() {
    for loss in Loss.allCases {
      onThread {
        let (loop, fired) = (RunLoop.current, Box(0))
        let host = try loop.hostDescriptor().fileDescriptor
        let timer = RunLoop.Timer(fireDate: .now, interval: .milliseconds(1)) { _ in fired.value += 1 }
        try loop.add(timer)
        var iterations = 0
        var lost: Int32?
        while fired.value < 5 {
          iterations += 1
          if try !loop.prepareToWait() { XCTAssertTrue(waitReadable(host)) }
          try loop.runPendingWork()
          if fired.value == 2, lost == nil {
            lost = Self.timerfd(of: "suspending", in: .default, loop)
            timer.invalidate()
            Self.lose(lost, loss)
            try loop.add(RunLoop.Timer(fireDate: .now, interval: .milliseconds(1)) { _ in fired.value += 1 })
          }
        }
        XCTAssertLessThanOrEqual(iterations, 25)
        Self.checkLeftAlone(lost, loss, Self.timerfd(of: "suspending", in: .default, loop))
      }
    }
    onThread {
      let loop = RunLoop.current
      _ = try loop.hostDescriptor()
      let number = Self.timerfd(of: "suspending", in: .default, loop)
      Self.lose(number, .replaced)
      CountingKernel.script.timerfd = { -EMFILE }
      try loop.add(RunLoop.Timer(fireDate: .now.advanced(by: .seconds(3600))) { _ in })
      let error = thrown { try loop.prepareToWait() }
      XCTAssertEqual(error, .system(EMFILE))
      XCTAssertEqual(error?.call, "timerfd_create")
      CountingKernel.script.timerfd = nil
      XCTAssertFalse(try loop.prepareToWait())
      try loop.runPendingWork()
      close(number!)
    }
  }
}

/// As a host does; false after half a minute.
private func waitReadable(_ descriptor: Int32) -> Bool {
  var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return poll(&entry, 1, 30_000) == 1
}
