import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// Rearmable timers, in virtual time.
@Suite struct VirtualRearmableTests {
  /// When it fired, in whole milliseconds since it was made.
  private final class Firings: Sendable {
    private let start = RunLoop.Instant.now
    private let dates = Mutex<[Int]>([])

    func append() {
      let passed = start.duration(to: .now) / .milliseconds(1)
      dates.withLock { $0.append(Int(passed)) }
    }
    var all: [Int] { dates.withLock { $0 } }
  }

  @Test func itFiresOnceForEachDateAndRests() async throws {
    try await VirtualTime.run { time in
      let (loop, fired) = (RunLoop.current, Firings())
      let timer = RunLoop.Timer(rearmable: time.now.advanced(by: .seconds(1))) { _ in fired.append() }
      #expect(timer.isRearmable)
      try loop.add(timer)
      #expect(try loop.run(for: .seconds(10)) == .timedOut)  // it is a member also while it rests
      #expect(fired.all == [1000])
      #expect(timer.isValid && timer.fireDate == .distantFuture && loop.contains(timer))
      #expect(timer.description.contains("never") && timer.description.contains("rearmable"))
      timer.rearm(after: .seconds(5))
      #expect(timer.fireDate == time.now.advanced(by: .seconds(5)))
      #expect(try loop.run(for: .seconds(10)) == .timedOut)
      timer.fireDate = .now
      #expect(try loop.run(for: .seconds(10)) == .timedOut)
      #expect(fired.all == [1000, 15000, 20000])
      timer.rearm(after: .seconds(1))
      timer.disarm()
      #expect(try loop.run(for: .seconds(10)) == .timedOut)
      timer.rearm(after: .seconds(1))
      timer.invalidate()
      timer.rearm(after: .zero)
      #expect(try loop.run(for: .seconds(10)) == .finished)
      #expect(fired.all.count == 3 && timer.fireDate == nil)

      // A one-shot one is gone; a repeating one goes on from where it was set to.
      let once = RunLoop.Timer(fireDate: .distantFuture) { _ in fired.append() }
      try loop.add(once)
      once.rearm(after: .seconds(1))
      #expect(!once.isRearmable)
      #expect(try loop.run() == .finished)
      #expect(!once.isValid && fired.all.count == 4)
    }
  }

  /// Also for a moment that has passed, or that is now: the clock stands still in a callout here.
  @Test func itsCalloutArmsItForAnyMoment() async throws {
    try await VirtualTime.run { time in
      let (loop, fired) = (RunLoop.current, Firings())
      try loop.add(
        RunLoop.Timer(rearmable: time.now.advanced(by: .seconds(1))) { timer in
          fired.append()
          switch fired.all.count {
          case 1: timer.fireDate = .now
          case 2: timer.rearm(after: .zero)
          case 3: timer.fireDate = RunLoop.Instant(nanoseconds: 0)
          case 4: timer.rearm(after: .seconds(-5))
          case 5: timer.rearm(after: .seconds(2))
          case 6:
            timer.rearm(after: .seconds(2))
            timer.rearm(after: .seconds(1))
          case 7:
            timer.rearm(after: .seconds(2))
            timer.disarm()
          default: break
          }
        })
      #expect(try loop.run(for: .seconds(60)) == .timedOut)
      #expect(fired.all == [1000, 1000, 1000, 1000, 1000, 3000, 4000])
    }
  }

  @Test func anotherThreadArmsItWhileTheLoopSleeps() async throws {
    try await VirtualTime.run { time in
      let (loop, fired) = (RunLoop.current, Firings())
      let timer = RunLoop.Timer(rearmable: .distantFuture) { timer in
        fired.append()
        if fired.all.count == 2 { timer.invalidate() }
      }
      try loop.add(timer)
      let other = time.start {
        time.advance(by: .seconds(3))
        timer.rearm(after: .seconds(9))
        time.advance(by: .seconds(1))
        timer.rearm(after: .seconds(1))  // earlier than what is waited for
        time.advance(by: .seconds(3))
        timer.rearm(after: .zero)
      }
      #expect(try loop.run() == .finished)
      other.join()
      #expect(fired.all == [5000, 7000])
    }
  }

  @Test func itRestsOnEveryClock() async throws {
    try await VirtualTime.run { time in
      func play<Date: RunLoop.ClockInstant>(_: Date.Type) throws {
        let (loop, fired) = (RunLoop.current, Firings())
        let timer = RunLoop.Timer(rearmableOn: Date.clock) { _ in fired.append() }
        #expect(timer.clock == Date.clock)
        try loop.add(timer)
        for _ in 1...2 {
          timer.rearm(after: .seconds(1))
          #expect(try loop.run(for: .seconds(4)) == .timedOut)
          #expect(timer.isValid && timer.fireDate == .distantFuture)
        }
        #expect(fired.all == [1000, 5000])
        timer.invalidate()
      }
      try play(RunLoop.Instant.self)
      try play(RunLoop.ContinuousInstant.self)
      try play(RunLoop.WallInstant.self)
      time.suspend(for: .zero)
    }
  }

  @Test func anIdleTimeoutIsPushedOutAsLongAsThereIsWork() async throws {
    try await VirtualTime.run { time in
      let (loop, fired) = (RunLoop.current, Firings())
      loop.defaultTimerTolerance = .seconds(1)
      let idle = RunLoop.Timer(rearmable: time.now.advanced(by: .seconds(30))) { _ in
        fired.append()
        loop.stop()
      }
      try loop.add(idle)
      #expect(idle.tolerance == .seconds(1))
      let work = RunLoop.Timer(fireDate: time.now.advanced(by: .seconds(7)), interval: .seconds(7), tolerance: .zero) {
        _ in
        if fired.all.isEmpty && time.now.nanoseconds < 1_000_060_000_000_000 { idle.rearm(after: .seconds(30)) }
      }
      try loop.add(work)
      work.tolerance = .zero
      #expect(try loop.run() == .stopped)
      // The last work before the minute was at 56 s; served with the work at 91 s at the latest.
      #expect(fired.all.count == 1 && (86_000...87_000).contains(fired.all[0]))
      idle.rearm(after: .seconds(2))
      #expect(try loop.run() == .stopped)
      #expect(fired.all.count == 2)
    }
  }
}
