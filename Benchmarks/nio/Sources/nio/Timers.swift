import CMeasure
import Glibc
import NIOCore
import NIOPosix

extension Workloads {
  /// The same numbers as random_below() in CPeers/subject.h.
  private struct Random {
    private var state: UInt64 = 88_172_645_463_325_252

    mutating func below(_ limit: UInt64) -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return ((state >> 32) &* limit) >> 32
    }

    mutating func farDelay() -> TimeAmount { .milliseconds(60000 + Int64(below(3_540_000))) }
  }

  static let timerInsertCancel: Body = { args, result in
    try onLoop(&result) { loop, result in
      var random = Random()
      for _ in 0..<args.size { loop.scheduleTask(in: random.farDelay()) {} }

      bench_begin(&result)
      for _ in 0..<args.count { loop.scheduleTask(in: random.farDelay()) {}.cancel() }
      bench_end(&result)
    }
    result.operations = UInt64(args.count)
  }

  static let timerRearm: Body = { args, result in
    try onLoop(&result) { loop, result in
      var random = Random()
      var timers = (0..<args.size).map { _ in loop.scheduleTask(in: random.farDelay()) {} }

      bench_begin(&result)
      for index in 0..<args.count {
        let pushed = Int(random.below(UInt64(args.size)))
        timers[pushed].cancel()
        timers[pushed] = loop.scheduleTask(in: .milliseconds(3_600_000 + index)) {}
      }
      bench_end(&result)
    }
    result.operations = UInt64(args.count)
  }

  /// All due when the loop comes back to its timers, with dates in random order.
  static let timerFire: Body = { args, result in
    try fire(args, &result) { random, now in
      now + .nanoseconds(Int64(random.below(1000)) * 4000)
    } beforeLoop: {
      usleep(6000)
    }
  }

  static let timerFireWindow: Body = { args, result in
    let window = UInt64(args.window_ms) * 1_000_000
    try fire(args, &result) { random, now in
      now + .milliseconds(500) + .nanoseconds(Int64(random.below(window)))
    } beforeLoop: {
    }
  }

  private static func fire(
    _ args: bench_args, _ result: inout bench_result,
    _ date: @escaping @Sendable (inout Random, NIODeadline) -> NIODeadline, beforeLoop: @escaping @Sendable () -> Void
  ) throws {
    let wanted = Int(args.size)
    let shared = Shared((fired: 0, result: result))
    let done = Semaphore()
    try withLoops(1) { loops in
      let loop = loops[0]
      loop.execute {
        var random = Random()
        let now = NIODeadline.now()
        for _ in 0..<wanted {
          loop.scheduleTask(deadline: date(&random, now)) {
            shared.state.pointee.fired += 1
            guard shared.state.pointee.fired == wanted else { return }
            bench_end(&shared.state.pointee.result)
            done.open()
          }
        }
        beforeLoop()
        bench_begin(&shared.state.pointee.result)
      }
      done.pass()
    }
    result = shared.state.pointee.result
    result.operations = UInt64(wanted)
  }

  static let timerLate: Body = { args, result in
    let shared = Shared(Samples(Int(args.count)))
    let done = Semaphore()
    try withLoops(1) { loops in
      let loop = loops[0]
      bench_begin(&result)
      loop.execute { late(loop, shared, done) }
      done.pass()
      bench_end(&result)
    }
    shared.state.pointee.store(in: &result)
  }

  private static func late(_ loop: any EventLoop, _ shared: Shared<Samples>, _ done: Semaphore) {
    let date = NIODeadline.now() + .milliseconds(1)
    shared.state.pointee.since = date.uptimeNanoseconds
    loop.scheduleTask(deadline: date) {
      if shared.state.pointee.take(bench_now()) { done.open() } else { late(loop, shared, done) }
    }
  }

  static let timerDrift: Body = { args, result in
    let shared = Shared(Samples(1))
    let (count, done) = (Shared(0), Semaphore())
    try withLoops(1) { loops in
      let period = TimeAmount.milliseconds(1)
      bench_begin(&result)
      shared.state.pointee.since = bench_now() + UInt64(args.count) * 1_000_000
      loops[0].scheduleRepeatedTask(initialDelay: period, delay: period) { task in
        count.state.pointee += 1
        guard count.state.pointee == args.count else { return }
        _ = shared.state.pointee.take(bench_now())
        task.cancel()
        done.open()
      }
      done.pass()
      bench_end(&result)
    }
    shared.state.pointee.store(in: &result)
    result.operations = UInt64(args.count)
  }

  static let memoryOfTimers: Body = { args, result in
    try onLoop(&result) { loop, result in
      let before = bench_usage_now()
      for index in 0..<args.size { loop.scheduleTask(in: .milliseconds(60000 + index)) {} }
      bench_usage_per_item(before, args.size, &result)
    }
  }
}
