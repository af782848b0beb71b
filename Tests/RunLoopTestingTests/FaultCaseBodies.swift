import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization

/// What happens in the processes of `FaultCaseTests`.
extension Bodies {
  /// What a timer asks for with a date that has come is served in the next pass, never inside the call or by the same expiry.
  static func case32DatesThatHaveCome() throws {
    let time = VirtualTime.install()
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
        require(passes.value == (index == 0 ? pass : pass + 1))
        log.append("timer \(index)")
        step(index + 1)
      }
      require((try? loop.add(timer)) == true)
      log.append("asked \(index)")
    }
    try loop.perform { step(0) }
    require(try loop.run() == .finished)
    require(
      log.all == ["asked 0", "timer 0", "asked 1", "timer 1", "asked 2", "timer 2", "asked 3", "timer 3"])

    for delay: Duration in [.zero, .seconds(-1), .nanoseconds(-1)] {
      let pass = passes.value
      try loop.perform(after: delay) { @Sendable in
        log.append("performed")
        require(passes.value == pass + 1)
        _ = try? loop.perform(after: delay) { @Sendable in require(passes.value == pass + 2) }
      }
      require(try loop.run() == .finished)
    }
    require(log.all.count == 11)
    require(time.now.nanoseconds == 1_000_000_000_000_000)
  }

  /// What is never stays never, to the last nanosecond of the clock; sums do not wrap.
  static func case34HugeDatesAndIntervals() throws {
    let time = VirtualTime.install()
    let (loop, log) = (RunLoop.current, Log())
    let last = RunLoop.Instant(nanoseconds: .max - 1)
    func add(_ timer: RunLoop.Timer) throws { require(try loop.add(timer)) }
    try add(RunLoop.Timer(fireDate: .distantFuture) { _ in log.append("never") })
    try add(
      RunLoop.Timer(fireDate: .distantFuture, interval: .seconds(1), tolerance: .seconds(1)) { _ in log.append("never")
      })
    try add(RunLoop.Timer(fireDate: .now, interval: .seconds(Int64.max)) { _ in log.append("once in 584 years") })
    try add(RunLoop.Timer(fireDate: .now, interval: .seconds(18_000_000_000)) { _ in log.append("huge interval") })
    try add(RunLoop.Timer(fireDate: last, tolerance: .seconds(Int64.max)) { _ in log.append("last") })
    try add(RunLoop.Timer(fireDate: last, interval: .nanoseconds(1)) { _ in log.append("last, repeating") })
    try loop.perform(after: .seconds(Int64.max)) { @Sendable in log.append("never") }
    let forever = RunLoop.Timer(rearmable: .distantFuture) { _ in log.append("never") }
    forever.rearm(after: .seconds(Int64.max))
    try add(forever)
    require(try loop.run(for: .seconds(1)) == .timedOut)
    require(log.all == ["once in 584 years", "huge interval"])
    require(try loop.run(until: RunLoop.Instant(nanoseconds: .max - 2)) == .timedOut)
    require(log.all == ["once in 584 years", "huge interval", "huge interval"])
    require(time.now.nanoseconds == .max - 2)
    require(loop.nextFireDate(in: .default) == last)
  }

  /// "Now" is read anew whenever it counts: after a long callout nothing goes by the pass's beginning.
  static func case46NowAfterALongCallout() throws {
    let time = VirtualTime.install()
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
    require(try loop.run() == .finished)
    require(log.all == ["long 11.0", "phase 11.0", "performed 12.0", "added 13.0", "phase 14.0", "phase 19.0"])
  }

  /// What is asked for at one moment: blocks in order, then what waits for its date, in order.
  static func case54ImmediateAndScheduledWorkOfOneMoment() throws {
    let time = VirtualTime.install()
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
      require(try loop.run() == .finished)
      require(log.all == immediate + scheduled)
    }
    require(time.now.nanoseconds == 1_000_000_000_000_000)
  }

  /// An order is among signalled sources, and among observers: what became ready later comes later, whatever its order is.
  static func case58AnEventOfAnotherOrderMeanwhile() throws {
    let time = VirtualTime.install()
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
    require(try loop.run(for: .seconds(1)) == .timedOut)
    require(log.all == ["descriptor 0", "block", "source", "descriptor 1", "descriptor 2"])
    require(time.now.nanoseconds > 0)
  }

  /// It is a member of the private mode in no moment, and of the common ones when that run is over.
  static func case60ACommonItemAddedInAPrivateMode() throws {
    let time = VirtualTime.install()
    let (loop, log) = (RunLoop.current, Log())
    let source = RunLoop.Source { _ in
      log.append("source in \(loop.currentMode!.rawValue)")
      loop.stop()
    }
    try loop.add(
      RunLoop.Timer(fireDate: .now) { _ in
        try? loop.perform(in: "private") { @Sendable in
          require((try? loop.add(source, to: .common)) == true)
          source.signal()
          loop.wakeUp()
        }
        _ = try? loop.add(
          RunLoop.Timer(fireDate: .now.advanced(by: .seconds(1))) { _ in log.append("private") }, to: "private")
        require((try? loop.run(in: "private", for: .seconds(5))) == .finished)
        require(!loop.contains(source, in: "private") && loop.contains(source))
        log.append("back")
      })
    require(try loop.run(for: .seconds(9)) == .stopped)
    require(log.all == ["private", "back", "source in kCFRunLoopDefaultMode"])
    require(time.now.nanoseconds == 1_000_001_000_000_000)
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
      require(pipe(&ends) == 0)
      (reading, writing) = (ends[0], ends[1])
    }

    func fill() { require(write(writing, "x", 1) == 1) }
    func drain() {
      var byte: UInt8 = 0
      require(read(reading, &byte, 1) == 1)
    }
  }
}
