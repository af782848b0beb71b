import OpenCombine
import RunLoopCombine
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// Operators of OpenCombine on a loop, in virtual time.
struct RunLoopSchedulerTests {
  private final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func note(_ line: String) { lines.withLock { $0.append(line) } }
  }

  @Test func valuesComeInOrderOnTheLoopsThread() throws {
    let log = Log()
    try VirtualTime.run { (_: VirtualTime) throws in
      let loop = RunLoop.current
      let numbers = PassthroughSubject<Int, Never>()
      let subscription = numbers.receive(on: loop.scheduler)
        .sink { log.note("\($0), on the loop: \(loop.isCurrent)") }
      for number in 1...3 { numbers.send(number) }
      log.note("sent")
      try loop.perform { loop.stop() }  // blocks alone do not end a run
      #expect(try loop.run() == .stopped)
      subscription.cancel()
    }
    #expect(log.all == ["sent", "1, on the loop: true", "2, on the loop: true", "3, on the loop: true"])
  }

  @Test func aBurstIsDebounced() throws {
    let log = Log()
    try VirtualTime.run { (time: VirtualTime) throws in
      let loop = RunLoop.current
      let start = time.now
      let words = PassthroughSubject<String, Never>()
      let subscription = words.debounce(for: .milliseconds(200), scheduler: loop.scheduler)
        .sink { log.note("\($0) after \(start.duration(to: time.now))") }
      try loop.assumeOnLoop { local in
        for (word, delay) in [("r", 0), ("ru", 100), ("run", 250), ("loop", 1000)] {
          try local.perform(after: .milliseconds(delay)) { words.send(word) }
        }
      }
      #expect(try loop.run() == .finished)
      subscription.cancel()
    }
    #expect(log.all == ["run after 0.45 seconds", "loop after 1.2 seconds"])
  }

  @Test func aRepeatedActionEndsWhenItIsCancelled() throws {
    let log = Log()
    try VirtualTime.run { (time: VirtualTime) throws in
      let loop = RunLoop.current
      let scheduler = loop.scheduler
      let start = scheduler.now
      let holder = Holder()
      holder.set(
        scheduler.schedule(after: start.advanced(by: 1), interval: .milliseconds(500), tolerance: .zero, options: nil) {
          log.note("\(start.distance(to: scheduler.now).nanoseconds / 1_000_000) ms")
          if log.all.count == 3 { holder.cancel() }
        })
      #expect(try loop.run() == .finished)
    }
    #expect(log.all == ["1000 ms", "1500 ms", "2000 ms"])
  }

  /// Of one thread.
  private final class Holder: @unchecked Sendable {
    private var held: (any Cancellable)?
    func set(_ cancellable: any Cancellable) { held = cancellable }
    func cancel() { held?.cancel() }
  }

  /// What waits when the loop ends, and what comes later.
  @Test func whatIsDroppedIsTold() throws {
    let log = Log()
    let thread = RunLoop.Thread(name: "ends")
    try thread.start()
    let scheduler = thread.loop!.scheduler
    let far = scheduler.now.advanced(by: 3600)
    scheduler.schedule(after: far, tolerance: .zero, options: .init { log.note("delayed") }) { log.note("wrong") }
    let repeated = scheduler.schedule(
      after: far, interval: 1, tolerance: .zero, options: .init { log.note("repeated") }
    ) { log.note("wrong") }
    thread.stop()
    try thread.join()
    #expect(log.all.sorted() == ["delayed", "repeated"])
    repeated.cancel()
    scheduler.schedule(options: .init { log.note("late") }) { log.note("wrong") }
    let ticks = scheduler.schedule(
      after: far, interval: 1, tolerance: .zero, options: .init { log.note("late ticks") }
    ) { log.note("wrong") }
    ticks.cancel()
    #expect(log.all.sorted() == ["delayed", "late", "late ticks", "repeated"])
  }

  @Test func spansHaveLimits() {
    typealias Stride = SchedulerTime.Stride
    #expect(Stride.seconds(Int.max) == Stride(nanoseconds: .max))
    #expect(Stride.seconds(-Double.infinity) == Stride(nanoseconds: -.max))
    #expect(Stride.seconds(Double.nan) == .zero)
    #expect(2 * Stride.milliseconds(1500) == 3)
    #expect(Stride(nanoseconds: .max) * -2 == Stride(nanoseconds: -.max))
    #expect(Stride(exactly: UInt64.max) == nil)
    let first = SchedulerTime(RunLoop.Instant(nanoseconds: 5))
    #expect(first.advanced(by: -1).instant.nanoseconds == 0)
    #expect(SchedulerTime(.distantFuture).advanced(by: 1).instant == .distantFuture)
    #expect(SchedulerTime(.distantFuture).distance(to: first) == Stride(nanoseconds: -.max))
  }
}
