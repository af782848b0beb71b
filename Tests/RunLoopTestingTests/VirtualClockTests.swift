import CTestSupport
import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// Timers on the suspending, the continuous and the wall clock, in virtual time.
@Suite struct VirtualClockTests {
  @Test func test_RLK_CLOCK_9_suspendTellsTheClocksApart() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(10))) { _ in log.append("suspending") })
      try loop.add(
        RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.now.advanced(by: .seconds(10))) { _ in
          log.append("continuous")
        })
      try loop.add(
        RunLoop.Timer(fireDate: RunLoop.WallInstant.now.advanced(by: .seconds(10))) { _ in log.append("wall") })
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(1))) { _ in time.suspend(for: .seconds(60)) })
      #expect(try loop.run(for: .seconds(2)) == .timedOut)
      #expect(log.all == ["continuous", "wall"])
      #expect(try loop.run(for: .seconds(100)) == .finished)
      #expect(log.all == ["continuous", "wall", "suspending"])
      #expect(time.now == start.advanced(by: .seconds(10)))
    }
  }

  @Test func test_RLK_TIMER_8_aDelayCountsFromTheTimersCreation() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      let continuous = RunLoop.ContinuousInstant.now
      let timers = RunLoop.TimerClock.allCases.map { clock in
        RunLoop.Timer(after: .seconds(10), interval: .seconds(7), on: clock) { timer in
          log.append("\(timer.clock) after \(start.duration(to: time.now)) and \(continuous.duration(to: .now))")
          timer.invalidate()
        }
      }
      #expect(timers.map(\.interval) == [.seconds(7), .seconds(7), .seconds(7)])
      time.suspend(for: .seconds(1))
      time.advance(by: .seconds(5))
      for timer in timers { try loop.add(timer) }
      #expect(try loop.run() == .finished)
      #expect(
        log.all == [
          "continuous after 9.0 seconds and 10.0 seconds", "wall after 9.0 seconds and 10.0 seconds",
          "suspending after 10.0 seconds and 11.0 seconds",
        ])
    }
  }

  /// The clock ends at its last moment, and does not begin anew.
  @Test func aTickMayBeOfAnyLength() async throws {
    for tick in [Duration.seconds(Int64.max), .seconds(1 << 33), .seconds(-1)] {
      try await VirtualTime.run(tick: tick) { time in
        let readings = (1...4).map { _ in time.now }
        #expect(readings == readings.sorted())
        let last = RunLoop.Instant(nanoseconds: .max - 1)
        #expect(readings[3] == (tick < .zero ? VirtualTime.defaultStart : last))
      }
    }
  }

  @Test func aClockMayBeginAtItsEnd() async throws {
    try await VirtualTime.run(startingAt: .distantFuture) { time in
      let (loop, descriptor) = (RunLoop.current, test_eventfd(0))
      let source = try RunLoop.PortSource(fileDescriptor: descriptor) { _ in }
      try loop.add(source)
      for _ in 0..<200 { try loop.run(for: .zero) }  // counts as spinning
      source.invalidate()
      close(descriptor)
      #expect(time.now < .distantFuture)
    }
  }

  @Test func aDelayIsNeverNegativeAndMayBeForEver() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      for delay in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
        try loop.add(RunLoop.Timer(after: delay) { _ in log.append("\(start.duration(to: time.now))") })
      }
      #expect(try loop.run() == .finished)
      #expect(log.all == ["0.0 seconds", "0.0 seconds", "0.0 seconds"])
      #expect(RunLoop.Timer(after: .seconds(Int64.max)) { _ in }.fireDate == .distantFuture)
    }
  }

  /// A clock's first moment is a date like any other, whether it is long past or the clock shows it. A mode that has a
  /// descriptor sets its timerfd for it.
  @Test(arguments: [VirtualTime.defaultStart, RunLoop.Instant(nanoseconds: 0)], [false, true])
  func test_RLK_TIMER_4_theFirstMomentOfAClockIsADate(_ start: RunLoop.Instant, _ hasDescriptor: Bool) async throws {
    try await Self.fireAtTheFirstMoment(of: RunLoop.Instant.self, start, hasDescriptor)
    try await Self.fireAtTheFirstMoment(of: RunLoop.ContinuousInstant.self, start, hasDescriptor)
    try await Self.fireAtTheFirstMoment(of: RunLoop.WallInstant.self, start, hasDescriptor)
  }

  private static func fireAtTheFirstMoment<Date: RunLoop.ClockInstant>(
    of _: Date.Type, _ start: RunLoop.Instant, _ hasDescriptor: Bool
  ) async throws {
    try await VirtualTime.run(startingAt: start) { time in
      if start.nanoseconds == 0 { time.setWallClock(to: RunLoop.WallInstant(nanoseconds: 0)) }
      let (loop, descriptor) = (RunLoop.current, test_eventfd(0))
      let source = try RunLoop.PortSource(fileDescriptor: descriptor) { _ in }
      if hasDescriptor { try loop.add(source) }
      func run(
        _ seconds: Int, _ wanted: [String], _ make: (@escaping @Sendable (String) -> Void) -> [RunLoop.Timer]
      ) throws {
        let (log, began) = (Log(), time.now)
        let timers = make { log.append("\($0) after \(began.duration(to: time.now))") }
        for timer in timers { try loop.add(timer) }
        try loop.run(for: .seconds(seconds))
        #expect(log.all == wanted, "\(Date.clock) from \(start)")
        for timer in timers { timer.invalidate() }
      }
      try run(1, ["first after 0.0 seconds", "later after 0.05 seconds"]) { note in
        [
          RunLoop.Timer(fireDate: Date(nanoseconds: 0)) { _ in note("first") },
          RunLoop.Timer(fireDate: Date.now.advanced(by: .milliseconds(50))) { _ in note("later") },
        ]
      }
      try run(8, ["repeating after 0.0 seconds", "repeating after 7.0 seconds"]) { note in
        [RunLoop.Timer(fireDate: Date(nanoseconds: 0), interval: .seconds(7)) { _ in note("repeating") }]
      }
      try run(1, ["set after 0.0 seconds"]) { note in
        let timer = RunLoop.Timer(rearmableOn: Date.clock) { _ in note("set") }
        switch Date.clock {
        case .suspending: timer.fireDate = RunLoop.Instant(nanoseconds: 0)
        case .continuous: timer.continuousFireDate = RunLoop.ContinuousInstant(nanoseconds: 0)
        case .wall: timer.wallFireDate = RunLoop.WallInstant(nanoseconds: 0)
        }
        return [timer]
      }
      source.invalidate()
      close(descriptor)
    }
  }

  @Test func timeDoesNotGoBackAndDoesNotOverflow() async throws {
    try await VirtualTime.run { time in
      let (now, continuous, wall) = (time.now, RunLoop.ContinuousInstant.now, RunLoop.WallInstant.now)
      for duration in [Duration.zero, .seconds(-5), .seconds(Int64.min)] {
        time.advance(by: duration)
        time.suspend(for: duration)
      }
      #expect(time.now == now && RunLoop.ContinuousInstant.now == continuous && RunLoop.WallInstant.now == wall)
      time.suspend(for: .nanoseconds((1 << 53) + 1))  // exactly
      #expect(continuous.duration(to: .now) == .nanoseconds((1 << 53) + 1))
      for _ in 1...2 { time.suspend(for: .seconds(Int64.max)) }
      #expect(time.now == now && RunLoop.ContinuousInstant.now > continuous)
      time.setWallClock(to: RunLoop.WallInstant(nanoseconds: .max))
      #expect(time.now == now && RunLoop.WallInstant.now > wall)
      time.setWallClock(to: RunLoop.WallInstant(nanoseconds: 0))
      #expect(time.now == now && RunLoop.WallInstant.now == RunLoop.WallInstant(nanoseconds: 0))
    }
  }

  /// The first of January 2001 and the start.
  @Test func theWallClockBeginsOnAFixedDay() async throws {
    for start in [0, 5_000_000_007] as [UInt64] {
      try await VirtualTime.run(startingAt: RunLoop.Instant(nanoseconds: start)) { time in
        #expect(RunLoop.WallInstant.now.nanoseconds == 978_307_200_000_000_000 + start)
        #expect(RunLoop.ContinuousInstant.now.nanoseconds == start && time.now.nanoseconds == start)
      }
    }
  }

  @Test func test_RLK_CLOCK_9_theMachineSleepsWhileTheLoopDoes() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      let fired = Mutex<RunLoop.Instant?>(nil)
      let date = RunLoop.ContinuousInstant.now.advanced(by: .seconds(3600))
      try loop.add(RunLoop.Timer(fireDate: date) { _ in fired.withLock { $0 = time.now } })
      let other = time.start {
        time.advance(by: .seconds(5))
        time.suspend(for: .seconds(1800))
      }
      #expect(try loop.run() == .finished)
      #expect(fired.withLock { $0 } == start.advanced(by: .seconds(1800)))
      #expect(RunLoop.ContinuousInstant.now == date)
      other.join()
    }
  }

  @Test func test_RLK_CLOCK_8_theWallClockIsSetBack() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      let date = RunLoop.WallInstant.now.advanced(by: .seconds(10))
      try loop.add(RunLoop.Timer(fireDate: date) { _ in log.append("wall \(RunLoop.WallInstant.now == date)") })
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(10))) { _ in log.append("suspending") })
      try loop.add(
        RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.now.advanced(by: .seconds(11))) { _ in
          log.append("continuous")
        })
      try loop.add(
        RunLoop.Timer(fireDate: start.advanced(by: .seconds(1))) { _ in
          time.setWallClock(to: .now.advanced(by: .seconds(-3600)))
        })
      #expect(try loop.run() == .finished)
      #expect(log.all == ["suspending", "continuous", "wall true"])
      #expect(time.now == start.advanced(by: .seconds(3610)))
    }
  }

  @Test func test_RLK_CLOCK_8_theWallClockIsSetForward() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      let dates = Mutex<[Duration]>([])
      let begin = RunLoop.WallInstant.now
      let every = RunLoop.Timer(fireDate: begin.advanced(by: .seconds(10)), interval: .seconds(10)) { _ in
        dates.withLock { $0.append(begin.duration(to: .now)) }
      }
      try loop.add(every)
      // By another thread, while the loop sleeps.
      let other = time.start {
        time.advance(by: .seconds(12))
        time.setWallClock(to: .now.advanced(by: .seconds(53)))
      }
      #expect(try loop.run(for: .seconds(20)) == .timedOut)
      other.join()
      // At 10; at once when it shows 65; and then the phase again.
      #expect(dates.withLock { $0 } == [.seconds(10), .seconds(65), .seconds(70)])
      #expect(every.wallFireDate == begin.advanced(by: .seconds(80)))
      #expect(every.fireDate == start.advanced(by: .seconds(27)))
    }
  }

  /// Set back before they fire, what lies in the past of their making: behind the date, and before it.
  @Test func test_RLK_CLOCK_8_aDateInThePastStaysADateOfTheWallClock() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      let made = RunLoop.WallInstant.now
      func add(_ seconds: Int, every interval: Duration = .zero, _ name: String) throws -> RunLoop.Timer {
        let timer = RunLoop.Timer(fireDate: made.advanced(by: .seconds(-seconds)), interval: interval) { _ in
          log.append("\(name) \(RunLoop.WallInstant.now.duration(to: made))")
        }
        try loop.add(timer)
        return timer
      }
      let repeating = try add(100, every: .seconds(1000), "repeating")
      _ = try add(10, "early")
      time.setWallClock(to: made.advanced(by: .seconds(-50)))
      #expect(try loop.run(for: .zero) == .timedOut)
      // Its phase begins where it fired, as ever (A14).
      #expect(log.all == ["repeating 50.0 seconds"])
      #expect(repeating.wallFireDate == made.advanced(by: .seconds(950)))
      #expect(try loop.run(for: .seconds(100)) == .timedOut)
      #expect(log.all == ["repeating 50.0 seconds", "early 10.0 seconds"])

      // Collected with what sets the clock back, too.
      repeating.invalidate()
      let base = RunLoop.WallInstant.now
      _ = try loop.add(
        RunLoop.Timer(fireDate: base.advanced(by: .seconds(-3))) { _ in
          time.setWallClock(to: base.advanced(by: .seconds(-2)))
        })
      for seconds in [2, 1] {
        try loop.add(
          RunLoop.Timer(fireDate: base.advanced(by: .seconds(-seconds))) { _ in
            log.append("\(seconds) \(RunLoop.WallInstant.now == base.advanced(by: .seconds(-seconds)))")
          })
      }
      #expect(try loop.run(for: .seconds(10)) == .finished)
      #expect(log.all.suffix(2) == ["2 true", "1 true"])
    }
  }

  @Test func aWallTimerThatSetsItselfToThePast() async throws {
    try await VirtualTime.run(tick: .nanoseconds(1)) { time in
      let loop = RunLoop.current
      let count = Mutex(0)
      let past = RunLoop.WallInstant.now.advanced(by: .seconds(-60))
      let passes = Mutex(0)
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.withLock { $0 += 1 } })
      try loop.add(
        RunLoop.Timer(fireDate: past, interval: .seconds(3600)) { timer in
          if count.withLock({
            $0 += 1
            return $0 < 5
          }) {
            timer.wallFireDate = past
          } else {
            loop.stop()
          }
        })
      #expect(try loop.run(for: .seconds(10)) == .stopped)
      // Once a pass, as any timer that sets itself to now.
      #expect(passes.withLock { $0 } == 5)
      #expect(time.now.nanoseconds > 0)
    }
  }

  @Test func equallyLateTimersFireInTheOrderOfTheirClocks() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      // One moment on each clock, three of it on each, added the other way round.
      for index in 1...3 {
        func add<Date: RunLoop.ClockInstant>(_ name: String, _: Date.Type) throws {
          let date = Date(nanoseconds: Date.now.nanoseconds).advanced(by: .seconds(1))
          try loop.add(RunLoop.Timer(fireDate: date) { _ in log.append("\(name)\(index)") })
        }
        try add("wall", RunLoop.WallInstant.self)
        try add("continuous", RunLoop.ContinuousInstant.self)
        try add("suspending", RunLoop.Instant.self)
      }
      // A nanosecond before them, on the last of the clocks.
      try loop.add(
        RunLoop.Timer(fireDate: RunLoop.WallInstant.now.advanced(by: .nanoseconds(999_999_999))) { _ in
          log.append("first")
        })
      time.suspend(for: .zero)
      time.advance(by: .seconds(2))
      #expect(try loop.run() == .finished)
      #expect(
        log.all == [
          "first", "suspending1", "suspending2", "suspending3", "continuous1", "continuous2", "continuous3", "wall1",
          "wall2",
          "wall3",
        ])
    }
  }

  @Test func test_RLK_CLOCK_8_aCalloutSetsTheWallClockBack() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      let date = RunLoop.WallInstant.now.advanced(by: .seconds(60))
      let begin = time.now
      try loop.add(
        RunLoop.Timer(fireDate: date, interval: .seconds(3600)) { _ in
          log.append("first")
          if log.all.count == 1 { time.setWallClock(to: date.advanced(by: .seconds(-600))) }
        })
      // Collected with the first, and not due any more when its turn comes: it waits for its date again.
      try loop.add(RunLoop.Timer(fireDate: date) { _ in log.append("second \(RunLoop.WallInstant.now == date)") })
      #expect(try loop.run(until: begin.advanced(by: .seconds(60))) == .timedOut)
      #expect(log.all == ["first"])
      #expect(try loop.run(until: begin.advanced(by: .seconds(60 + 600 + 3599))) == .timedOut)
      #expect(log.all == ["first", "second true"])  // the hour that comes twice is served once
      #expect(try loop.run(until: begin.advanced(by: .seconds(60 + 600 + 3600))) == .timedOut)
      #expect(log.all == ["first", "second true", "first"])
    }
  }

  /// What a callout sets counts, wherever the clock stands by then: before the date that fires, and behind it.
  @Test func aDateOfTheCalloutCountsThoughTheClockIsSetBack() async throws {
    try await VirtualTime.run { time in
      let (loop, begin) = (RunLoop.current, time.now)
      let fired = Mutex<[Int]>([])
      func play(_ interval: Duration, _ set: @escaping @Sendable (RunLoop.Timer) -> Void) throws -> RunLoop.Timer {
        let date = RunLoop.WallInstant.now.advanced(by: .seconds(60))
        let timer = RunLoop.Timer(fireDate: date, interval: interval) { timer in
          fired.withLock { $0.append(Int(begin.duration(to: time.now) / .seconds(1))) }
          guard fired.withLock({ $0.count % 2 == 1 }) else { return timer.invalidate() }
          time.setWallClock(to: date.advanced(by: .seconds(-3600)))
          set(timer)
        }
        try loop.add(timer)
        return timer
      }
      func run() throws {
        #expect(try loop.run(for: .seconds(80)) == .finished)
      }
      _ = try play(.seconds(Int64.max)) { $0.rearm(after: .seconds(10)) }  // rearmable
      try run()
      _ = try play(.seconds(300)) { $0.rearm(after: .seconds(10)) }
      try run()
      _ = try play(.seconds(300)) { $0.wallFireDate = .now.advanced(by: .seconds(10)) }
      try run()
      _ = try play(.seconds(300)) { $0.fireDate = .now.advanced(by: .seconds(10)) }
      try run()
      _ = try play(.seconds(300)) { $0.rearm(after: .seconds(-10)) }  // at once
      try run()
      #expect(fired.withLock { $0 } == [60, 70, 130, 140, 200, 210, 270, 280, 340, 340])

      // It rests: the date of its phase does not count.
      let resting = try play(.seconds(300)) { $0.disarm() }
      #expect(try loop.run(for: .seconds(7200)) == .timedOut)
      #expect(resting.fireDate == .distantFuture && fired.withLock { $0.count } == 11)
    }
  }

  @Test func timersOfAllClocksFireInTheOrderOfBeingDue() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      func add(_ date: some RunLoop.ClockInstant, _ seconds: Int, _ name: String) throws {
        let date = date.advanced(by: .seconds(seconds))
        try loop.add(RunLoop.Timer(fireDate: date) { _ in log.append("\(name) \(seconds)") })
      }
      try add(RunLoop.WallInstant.now, 3, "wall")
      try add(RunLoop.ContinuousInstant.now, 2, "continuous")
      try add(RunLoop.Instant.now, 3, "suspending")
      try add(RunLoop.WallInstant.now, 1, "wall")
      try add(RunLoop.ContinuousInstant.now, 3, "continuous")
      try add(RunLoop.WallInstant.now, 9, "wall")
      time.advance(by: .seconds(5))
      let passes = Mutex(0)
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.withLock { $0 += 1 } })
      #expect(try loop.run(for: .zero) == .timedOut)
      #expect(log.all == ["wall 1", "continuous 2", "suspending 3", "continuous 3", "wall 3"])
      #expect(passes.withLock { $0 } == 1)
      #expect(loop.nextFireDate(in: .default) == time.now.advanced(by: .seconds(4)))
    }
  }

  /// Beside timers of the other clocks, whose dates are far.
  @Test(arguments: RunLoop.TimerClock.allCases)
  func aPollAndAHostFindWhatIsDueOnEachClock(_ clock: RunLoop.TimerClock) async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      for other in RunLoop.TimerClock.allCases {
        try loop.add(RunLoop.Timer(after: .seconds(3600), on: other) { _ in log.append("early") })
      }
      let timer = RunLoop.Timer(rearmableOn: clock) { _ in log.append("fired") }
      try loop.add(timer)
      timer.rearm(after: .seconds(1))
      #expect(try loop.run(for: .zero) == .timedOut)
      #expect(log.all == [])
      time.advance(by: .seconds(2))
      #expect(try loop.run(for: .zero) == .timedOut)
      #expect(log.all == ["fired"])
      timer.rearm(after: .seconds(1))
      #expect(try !loop.prepareToWait())
      time.advance(by: .seconds(2))
      #expect(try loop.prepareToWait())
      try loop.runPendingWork()
      #expect(log.all == ["fired", "fired"])
    }
  }

  @Test func aNestedRunServesTheRestOfAllClocks() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      try loop.add(
        RunLoop.Timer(fireDate: RunLoop.WallInstant.now.advanced(by: .seconds(1))) { _ in
          log.append("outer begins")
          _ = try? loop.run(for: .zero)
          log.append("outer ends")
        })
      try loop.add(
        RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.now.advanced(by: .seconds(2))) { _ in log.append("continuous")
        }
      )
      try loop.add(
        RunLoop.Timer(fireDate: RunLoop.WallInstant.now.advanced(by: .seconds(3))) { _ in log.append("wall") })
      time.advance(by: .seconds(5))
      #expect(try loop.run() == .finished)
      #expect(log.all == ["outer begins", "continuous", "wall", "outer ends"])
    }
  }

  /// Rule 31, of what was collected and has been given another date before its turn came.
  @Test func whatACalloutMovesKeepsTheOrderOfSetting() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      func play<Date: RunLoop.ClockInstant>(_: Date.Type, nested: Bool) throws {
        let (log, date) = (Log(), Date.now.advanced(by: .seconds(1)))
        let moved = ["first", "second"].map { name in RunLoop.Timer(fireDate: date) { _ in log.append(name) } }
        let mover = RunLoop.Timer(fireDate: date.advanced(by: .milliseconds(-1))) { _ in
          let later = Date.now.advanced(by: .seconds(10)).nanoseconds
          for timer in moved {
            if Date.clock == .wall {
              timer.wallFireDate = .init(nanoseconds: later)
            } else {
              timer.fireDate = .init(nanoseconds: later)
            }
          }
          if nested { _ = try? loop.run(for: .zero) }
        }
        // Collected the other way round.
        try loop.add(mover)
        for timer in moved.reversed() { try loop.add(timer) }
        time.advance(by: .seconds(2))
        #expect(try loop.run() == .finished)
        #expect(log.all == ["first", "second"])
      }
      try play(RunLoop.Instant.self, nested: false)
      try play(RunLoop.Instant.self, nested: true)
      try play(RunLoop.WallInstant.self, nested: false)
      try play(RunLoop.WallInstant.self, nested: true)
    }
  }

  @Test func aClocksTimersBelongToTheirModes() async throws {
    try await VirtualTime.run { time in
      let (loop, log, start) = (RunLoop.current, Log(), time.now)
      loop.addCommonMode(.tracking)
      let common = RunLoop.Timer(fireDate: RunLoop.WallInstant.now.advanced(by: .seconds(1)), interval: .seconds(1)) {
        _ in
        log.append(loop.currentMode!.rawValue)
      }
      try loop.add(common, to: .common)
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in }, to: "private")
      #expect(try loop.run(in: "private", for: .milliseconds(4500)) == .timedOut)
      #expect(log.all == [])
      #expect(try loop.run(in: .tracking, for: .milliseconds(1)) == .timedOut)  // late, once
      #expect(try loop.run(until: start.advanced(by: .seconds(6))) == .timedOut)
      #expect(log.all == ["UITrackingRunLoopMode", "kCFRunLoopDefaultMode", "kCFRunLoopDefaultMode"])
      #expect(loop.remove(common, from: .common))
      #expect(loop.isEmpty(in: .default) && loop.isEmpty(in: .tracking))
      #expect(try loop.add(common, to: "private"))
      #expect(common.wallFireDate == RunLoop.WallInstant.now.advanced(by: .seconds(1)))
      common.fireDate = .now
      #expect(try loop.run(in: "private", for: .zero) == .timedOut)
      #expect(log.all.count == 4)
      common.invalidate()
      #expect(common.wallFireDate == nil && !loop.contains(common, in: "private"))
    }
  }

  @Test func anotherThreadMovesADateOfASleepingLoop() async throws {
    try await VirtualTime.run { time in
      let (loop, start) = (RunLoop.current, time.now)
      let timers = [
        RunLoop.Timer(fireDate: RunLoop.WallInstant.distantFuture) { _ in },
        RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.distantFuture) { _ in },
      ]
      for timer in timers { try loop.add(timer) }
      let other = time.start {
        time.advance(by: .seconds(1))
        timers[0].wallFireDate = .now.advanced(by: .seconds(2))
        timers[1].fireDate = .now.advanced(by: .seconds(1))
      }
      #expect(try loop.run() == .finished)
      #expect(time.now == start.advanced(by: .seconds(3)))
      other.join()
    }
  }

  /// Dates, intervals, tolerances and clocks at random, and now and then a suspended machine or a wall clock that is set.
  @Test func neverEarlyWhateverTheClocksDo() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      var random = Dice(seed: 20)
      for round in 0..<60 {
        let (count, isSteady) = (1 + random.below(12), round % 2 == 0)
        for _ in 0..<count {
          let (delay, tolerance) = (random.below(5_000_000_000), random.below(3) == 0 ? random.below(700_000_000) : 0)
          let interval = random.below(2) == 0 ? 0 : 1 + random.below(1_500_000_000)
          func add<Date: RunLoop.ClockInstant>(_: Date.Type) throws {
            let watched = Watched<Date>(isSteady: isSteady)
            let timer = RunLoop.Timer(
              fireDate: Date.now.advanced(by: .nanoseconds(delay)), interval: .nanoseconds(interval),
              tolerance: .nanoseconds(tolerance)
            ) { watched.fired($0) }
            try loop.add(timer)
          }
          switch random.below(3) {
          case 0: try add(RunLoop.Instant.self)
          case 1: try add(RunLoop.ContinuousInstant.self)
          default: try add(RunLoop.WallInstant.self)
          }
        }
        for _ in 0..<6 {
          #expect(try loop.run(for: .nanoseconds(random.below(2_000_000_000))) != .stopped)
          if isSteady { continue }
          time.suspend(for: .nanoseconds(random.below(900_000_000)))
          time.setWallClock(to: .now.advanced(by: .nanoseconds(random.below(4_000_000_000) - 2_000_000_000)))
        }
        for item in loop.items() { item.invalidate() }
      }
      #expect(Calls.count.load(ordering: .relaxed) > 1000)
    }
  }
}

/// Whether a timer fires in time: never before its date; and, while nothing takes time, within its tolerance.
private struct Watched<Date: RunLoop.ClockInstant>: Sendable {
  let isSteady: Bool

  func fired(_ timer: RunLoop.Timer) {
    let now = Date.now
    let date: Date = timer.date()
    #expect(now >= date)
    if isSteady { #expect(date.duration(to: now) <= timer.tolerance) }
    _ = Calls.count.add(1, ordering: .relaxed)
  }
}

private enum Calls {
  static let count = Atomic<Int>(0)
}

extension RunLoop.Timer {
  fileprivate func date<Date: RunLoop.ClockInstant>() -> Date {
    switch clock {
    case .suspending: Date(nanoseconds: fireDate!.nanoseconds)
    case .continuous: Date(nanoseconds: continuousFireDate!.nanoseconds)
    case .wall: Date(nanoseconds: wallFireDate!.nanoseconds)
    }
  }
}

/// Random numbers that are the same every time.
struct Dice {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func below(_ limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(limit))
  }
}
