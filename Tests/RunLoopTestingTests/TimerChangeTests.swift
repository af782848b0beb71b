import Glibc
import RunLoopKit
import RunLoopTesting
import Testing

/// What a timer is given while it waits, in virtual time.
@Suite struct TimerChangeTests {
  /// Of a timer that is due at 10: its tolerance, what changes at which moment, and when it fires then. In seconds.
  private struct Case: Sendable {
    let tolerance, at, fires: Int
    let change: @Sendable (RunLoop.Timer) -> Void
  }

  private static let cases = [
    // Another tolerance.
    Case(tolerance: 100, at: 5, fires: 11) { $0.tolerance = .seconds(1) },
    Case(tolerance: 100, at: 5, fires: 10) { $0.tolerance = .zero },
    Case(tolerance: 1, at: 5, fires: 110) { $0.tolerance = .seconds(100) },
    Case(tolerance: 0, at: 5, fires: 13) { $0.tolerance = .seconds(3) },
    Case(tolerance: 100, at: 50, fires: 50) { $0.tolerance = .seconds(1) },
    // Another date.
    Case(tolerance: 0, at: 5, fires: 8) { $0.rearm(after: .seconds(3)) },
    Case(tolerance: 2, at: 5, fires: 27) { $0.rearm(after: .seconds(20)) },
    Case(tolerance: 0, at: 5, fires: 7) { $0.fireDate = .now.advanced(by: .seconds(2)) },
    Case(tolerance: 0, at: 5, fires: 30) { $0.fireDate = .now.advanced(by: .seconds(25)) },
    Case(tolerance: 0, at: 5, fires: 7) { $0.continuousFireDate = .now.advanced(by: .seconds(2)) },
    Case(tolerance: 0, at: 5, fires: 7) { $0.wallFireDate = .now.advanced(by: .seconds(2)) },
    Case(tolerance: 0, at: 5, fires: 5) { $0.wallFireDate = .now.advanced(by: .seconds(-2)) },
  ]

  /// By a callout or by another thread, in the one mode of the timer or the last of several.
  @Test(arguments: RunLoop.TimerClock.allCases, [false, true])
  func test_RLK_TIMER_2_whatIsSetMeanwhileCounts(clock: RunLoop.TimerClock, isInCallout: Bool) async throws {
    try await VirtualTime.run { time in
      for modes in [[.default], ["first", .default]] as [[RunLoop.Mode]] {
        for (number, test) in Self.cases.enumerated() {
          let (start, log) = (time.now, Log())
          let timer = RunLoop.Timer(after: .seconds(10), tolerance: .seconds(test.tolerance), on: clock) { _ in
            log.append("\(start.duration(to: time.now) / .seconds(1))")
          }
          for mode in modes { try RunLoop.current.add(timer, to: mode) }
          try run(time, after: test.at, isInCallout) { test.change(timer) }
          #expect(log.all == ["\(Double(test.fires))"], "\(number), in \(modes)")
        }
      }
    }
  }

  /// The place of an expiry among ready descriptors is the moment at which it comes, also while the loop is busy.
  @Test(arguments: [Duration.zero, .seconds(60)])
  func aTimerThatIsDueDuringACalloutComesBeforeWhatIsReadyLater(interval: Duration) async throws {
    try await VirtualTime.run { time in
      let (loop, log, ends) = (RunLoop.current, Log(), makePipe())
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: ends.reading, interest: .readable) { source, _ in
        log.append("descriptor")
        source.invalidate()
      }
      try loop.add(source)
      let busy = RunLoop.Timer(fireDate: time.now.advanced(by: .seconds(1)), interval: interval) { _ in
        log.append("busy")
        time.advance(by: .seconds(2))
        #expect(write(ends.writing, "x", 1) == 1)
      }
      try loop.add(busy)
      try loop.add(RunLoop.Timer(after: .seconds(2)) { _ in log.append("due meanwhile") })
      #expect(try loop.run(for: .seconds(10)) == (interval == .zero ? .finished : .timedOut))
      #expect(log.all == ["busy", "due meanwhile", "descriptor"])
      for end in [ends.reading, ends.writing] { close(end) }
    }
  }

  /// Runs the loop until nothing is left, and calls `change` meanwhile.
  private func run(
    _ time: VirtualTime, after seconds: Int, _ isInCallout: Bool, _ change: @escaping @Sendable () -> Void
  ) throws {
    let loop = RunLoop.current
    if isInCallout {
      try loop.add(RunLoop.Timer(after: .seconds(seconds), tolerance: .zero) { _ in change() })
      #expect(try loop.run() == .finished)
    } else {
      let other = time.start {
        time.advance(by: .seconds(seconds))
        change()
      }
      #expect(try loop.run() == .finished)
      other.join()
    }
  }
}
