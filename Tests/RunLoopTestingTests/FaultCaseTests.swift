import CTestSupport
import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// Dates and orders that are easily got wrong, in virtual time.
@Suite struct FaultCaseTests {
  /// What a timer asks for with a date that has come is served in the next pass, never inside the call or by the same expiry.
  @Test func test_RLK_FAIR_32_datesThatHaveCome() async throws {
    try await VirtualTime.run { time in
      let (loop, log, passes) = (RunLoop.current, Log(), Counter())
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.increment() })
      let dates: [@Sendable () -> RunLoop.Instant] = [
        { .now }, { .init(nanoseconds: 0) }, { .now.advanced(by: .seconds(-3)) }, { .now.advanced(by: .zero) },
      ]
      @Sendable func step(_ index: Int) {
        let pass = passes.value
        guard index < dates.count else { return }
        let timer = RunLoop.Timer(fireDate: dates[index]()) { _ in
          // A block at the beginning of a pass asks before the timers' turn of that pass.
          #expect(passes.value == (index == 0 ? pass : pass + 1))
          log.append("timer \(index)")
          step(index + 1)
        }
        #expect((try? loop.add(timer)) == true)
        log.append("asked \(index)")
      }
      try loop.perform { step(0) }
      #expect(try loop.run() == .finished)
      #expect(
        log.all == ["asked 0", "timer 0", "asked 1", "timer 1", "asked 2", "timer 2", "asked 3", "timer 3"])

      for delay: Duration in [.zero, .seconds(-1), .nanoseconds(-1)] {
        let pass = passes.value
        try loop.perform(after: delay) { @Sendable in
          log.append("performed")
          #expect(passes.value == pass + 1)
          _ = try? loop.perform(after: delay) { @Sendable in #expect(passes.value == pass + 2) }
        }
        #expect(try loop.run() == .finished)
      }
      #expect(log.all.count == 11)
      #expect(time.now.nanoseconds == 1_000_000_000_000_000)
    }
  }

  /// What is never stays never, to the last nanosecond of the clock; sums do not wrap.
  @Test func test_RLK_TIME_3_hugeDatesAndIntervals() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      let last = RunLoop.Instant(nanoseconds: .max - 1)
      func add(_ timer: RunLoop.Timer) throws { #expect(try loop.add(timer)) }
      try add(RunLoop.Timer(fireDate: .distantFuture) { _ in log.append("never") })
      try add(
        RunLoop.Timer(fireDate: .distantFuture, interval: .seconds(1), tolerance: .seconds(1)) { _ in
          log.append("never")
        })
      try add(RunLoop.Timer(fireDate: .now, interval: .seconds(Int64.max)) { _ in log.append("once in 584 years") })
      try add(RunLoop.Timer(fireDate: .now, interval: .seconds(18_000_000_000)) { _ in log.append("huge interval") })
      try add(RunLoop.Timer(fireDate: last, tolerance: .seconds(Int64.max)) { _ in log.append("last") })
      try add(RunLoop.Timer(fireDate: last, interval: .nanoseconds(1)) { _ in log.append("last, repeating") })
      try loop.perform(after: .seconds(Int64.max)) { @Sendable in log.append("never") }
      let forever = RunLoop.Timer(rearmable: .distantFuture) { _ in log.append("never") }
      forever.rearm(after: .seconds(Int64.max))
      try add(forever)
      #expect(try loop.run(for: .seconds(1)) == .timedOut)
      #expect(log.all == ["once in 584 years", "huge interval"])
      #expect(try loop.run(until: RunLoop.Instant(nanoseconds: .max - 2)) == .timedOut)
      #expect(log.all == ["once in 584 years", "huge interval", "huge interval"])
      #expect(time.now.nanoseconds == UInt64.max - 2)
      #expect(loop.nextFireDate(in: .default) == last)
    }
  }

  /// "Now" is read anew whenever it counts: after a long callout nothing goes by the pass's beginning.
  @Test func test_RLK_TIME_4_nowAfterALongCallout() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      @Sendable func note(_ name: String) { log.append("\(name) \(start.duration(to: .now) / .seconds(1))") }
      let date = start.advanced(by: .seconds(1))
      try loop.add(
        RunLoop.Timer(fireDate: date) { _ in
          time.advance(by: .seconds(10))
          note("long")
          // From the end of what was long.
          _ = try? loop.perform(after: .seconds(1)) { @Sendable in note("performed") }
          _ = try? loop.add(RunLoop.Timer(fireDate: .now.advanced(by: .seconds(2))) { _ in note("added") })
        })
      // Due during the callout: not of the same expiry, but of the next pass; its phase is kept, what was missed is skipped.
      try loop.add(
        RunLoop.Timer(fireDate: start.advanced(by: .seconds(4)), interval: .seconds(5)) { timer in
          note("phase")
          if log.all.count > 5 { timer.invalidate() }
        })
      #expect(try loop.run() == .finished)
      #expect(log.all == ["long 11.0", "phase 11.0", "performed 12.0", "added 13.0", "phase 14.0", "phase 19.0"])
    }
  }

  /// What is asked for at one moment: blocks in order, then what waits for its date, in order.
  @Test func test_RLK_FAIR_54_immediateAndScheduledWorkOfOneMoment() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      var random = Dice(seed: 54)
      for _ in 0..<50 {
        let log = Log()
        var (immediate, scheduled): ([String], [String]) = ([], [])
        for index in 0..<200 {
          switch random.below(3) {
          case 0:
            immediate.append("block \(index)")
            try loop.perform { @Sendable in log.append("block \(index)") }
          case 1:
            scheduled.append("perform \(index)")
            try loop.perform(after: .zero) { @Sendable in log.append("perform \(index)") }
          default:
            scheduled.append("timer \(index)")
            try loop.add(RunLoop.Timer(fireDate: .now) { _ in log.append("timer \(index)") })
          }
        }
        #expect(try loop.run() == .finished)
        #expect(log.all == immediate + scheduled)
      }
      #expect(time.now.nanoseconds == 1_000_000_000_000_000)
    }
  }

  /// An order is among signalled sources, and among observers: what became ready later comes later, whatever its order is.
  @Test func test_RLK_FAIR_59_anEventOfAnotherOrderMeanwhile() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      let pipes = try (0..<3).map { _ in try Ends() }
      let urgent = RunLoop.Source(order: -100) { _ in log.append("source") }
      try loop.add(urgent)
      for (index, order) in [0, 0, -100].enumerated() {
        let ends = pipes[index]
        try loop.add(
          RunLoop.FileDescriptorSource(fileDescriptor: ends.reading, interest: .readable, order: order) { _, _ in
            ends.drain()
            log.append("descriptor \(index)")
            if index == 0 {
              pipes[2].fill()  // ready now, behind the other one
              urgent.signal()
              try? loop.perform { @Sendable in log.append("block") }
            }
          })
      }
      pipes[0].fill()
      pipes[1].fill()
      #expect(try loop.run(for: .seconds(1)) == .timedOut)
      #expect(log.all == ["descriptor 0", "block", "source", "descriptor 1", "descriptor 2"])
      #expect(time.now.nanoseconds > 0)
    }
  }

  /// It is a member of the private mode in no moment, and of the common ones when that run is over.
  @Test func test_RLK_MODE_7_aCommonItemAddedInAPrivateMode() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      let source = RunLoop.Source { _ in
        log.append("source in \(loop.currentMode!.rawValue)")
        loop.stop()
      }
      try loop.add(
        RunLoop.Timer(fireDate: .now) { _ in
          try? loop.perform(in: "private") { @Sendable in
            #expect((try? loop.add(source, to: .common)) == true)
            source.signal()
            loop.wakeUp()
          }
          _ = try? loop.add(
            RunLoop.Timer(fireDate: .now.advanced(by: .seconds(1))) { _ in log.append("private") }, to: "private")
          #expect((try? loop.run(in: "private", for: .seconds(5))) == .finished)
          #expect(!loop.contains(source, in: "private") && loop.contains(source))
          log.append("back")
        })
      #expect(try loop.run(for: .seconds(9)) == .stopped)
      #expect(log.all == ["private", "back", "source in kCFRunLoopDefaultMode"])
      #expect(time.now.nanoseconds == 1_000_001_000_000_000)
    }
  }

  final class Counter: Sendable {
    private let number = Mutex(0)
    func increment() { number.withLock { $0 += 1 } }
    var value: Int { number.withLock { $0 } }
  }

  /// Of a pipe, for as long as the process lives.
  struct Ends: Sendable {
    let reading: Int32
    let writing: Int32

    init() throws {
      var ends: [Int32] = [-1, -1]
      #expect(test_pipe(&ends) == 0)
      (reading, writing) = (ends[0], ends[1])
    }

    func fill() { #expect(write(writing, "x", 1) == 1) }
    func drain() {
      var byte: UInt8 = 0
      #expect(read(reading, &byte, 1) == 1)
    }
  }
}
