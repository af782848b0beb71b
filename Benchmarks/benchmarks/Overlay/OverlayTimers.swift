import CMeasure
import Glibc
import RunLoopKit

extension Overlay {
  /// The same numbers as random_below() in subject.h.
  private struct Random {
    private var state: UInt64 = 88_172_645_463_325_252

    mutating func below(_ limit: UInt64) -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return ((state >> 32) &* limit) >> 32
    }

    mutating func farDate(from now: UInt64) -> RunLoop.Instant {
      RunLoop.Instant(nanoseconds: now &+ 60_000_000_000 &+ below(3_540_000) &* 1_000_000)
    }
  }

  static let timerInsertCancel: Body = { args, result in
    let loop = RunLoop.current
    let now = bench_now()
    var random = Random()
    for _ in 0..<args.size { try loop.add(RunLoop.Timer(fireDate: random.farDate(from: now)) { _ in }) }
    if args.active != 0 { return try armAndDisarm(args, &result) }

    bench_begin(&result)
    for _ in 0..<args.count {
      let timer = RunLoop.Timer(fireDate: random.farDate(from: now)) { _ in }
      try loop.add(timer)
      timer.invalidate()
    }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  private static func armAndDisarm(_ args: bench_args, _ result: inout bench_result) throws {
    let now = bench_now()
    var random = Random()
    let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in }
    try RunLoop.current.add(timer)

    bench_begin(&result)
    for _ in 0..<args.count {
      timer.fireDate = random.farDate(from: now)
      timer.disarm()
    }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  static let timerRearm: Body = { args, result in
    let loop = RunLoop.current
    let now = bench_now()
    var random = Random()
    var timers: [RunLoop.Timer] = []
    for _ in 0..<args.size {
      let timer = RunLoop.Timer(fireDate: random.farDate(from: now)) { _ in }
      timers.append(timer)
      try loop.add(timer)
    }

    bench_begin(&result)
    if args.active == 0 {
      for index in 0..<UInt64(args.count) {
        let timer = timers[Int(random.below(UInt64(args.size)))]
        timer.fireDate = RunLoop.Instant(nanoseconds: now &+ 3_600_000_000_000 &+ index &* 1_000_000)
      }
    } else {
      for index in 0..<Int(args.count) {
        timers[Int(random.below(UInt64(args.size)))].rearm(after: .milliseconds(3_600_000 + index))
      }
    }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  static let timerFire: Body = { args, result in
    let loop = RunLoop.current
    let state = Shared((fired: 0, wanted: Int(args.size)))
    var random = Random()
    try hold(loop)
    for _ in 0..<args.size {
      let date = RunLoop.Instant(nanoseconds: bench_now() &+ random.below(1000) &* 4000)
      try loop.add(
        RunLoop.Timer(fireDate: date) { _ in
          state.state.pointee.fired += 1
          if state.state.pointee.fired == state.state.pointee.wanted { loop.stop() }
        })
    }
    usleep(6000)

    bench_begin(&result)
    try loop.run()
    bench_end(&result)

    result.operations = UInt64(args.size)
  }

  static let timerFireWindow: Body = { args, result in
    let loop = RunLoop.current
    let state = Shared((fired: 0, wanted: Int(args.size)))
    var random = Random()
    let (start, window) = (bench_now() + 500_000_000, UInt64(args.window_ms) * 1_000_000)
    try hold(loop)
    for _ in 0..<args.size {
      let timer = RunLoop.Timer(fireDate: RunLoop.Instant(nanoseconds: start &+ random.below(window))) { _ in
        state.state.pointee.fired += 1
        if state.state.pointee.fired == state.state.pointee.wanted { loop.stop() }
      }
      timer.tolerance = .microseconds(args.tolerance_us)
      try loop.add(timer)
    }

    bench_begin(&result)
    try loop.run()
    bench_end(&result)

    result.operations = UInt64(args.size)
  }

  private struct Lateness {
    var dueAt: UInt64 = 0
    var sampled = 0
    let wanted: Int
    let samples: UnsafeMutablePointer<UInt32>
  }

  static let timerLate: Body = { args, result in
    let loop = RunLoop.current
    let samples = UnsafeMutablePointer<UInt32>(OpaquePointer(calloc(Int(args.count), 4)))!
    let shared = Shared(Lateness(wanted: Int(args.count), samples: samples))
    try hold(loop)
    try loop.run(for: .zero)
    let millisecond = Duration.milliseconds(1)
    // A one-shot timer is invalid after it fired: one that repeats rarely is given each next date, as CF's guide says.
    let timer = RunLoop.Timer(fireDate: .now.advanced(by: millisecond), interval: .seconds(86400)) { timer in
      let now = bench_now()
      let state = shared.state
      state.pointee.samples[state.pointee.sampled] =
        now > state.pointee.dueAt ? UInt32(truncatingIfNeeded: now - state.pointee.dueAt) : 0
      state.pointee.sampled += 1
      if state.pointee.sampled == state.pointee.wanted { return loop.stop() }
      state.pointee.dueAt = now + 1_000_000
      timer.fireDate = RunLoop.Instant(nanoseconds: state.pointee.dueAt)
    }

    bench_begin(&result)
    shared.state.pointee.dueAt = bench_now() + 1_000_000
    timer.fireDate = RunLoop.Instant(nanoseconds: shared.state.pointee.dueAt)
    try loop.add(timer)
    try loop.run()
    bench_end(&result)

    result.operations = UInt64(args.count)
    result.samples = samples
    result.sample_count = shared.state.pointee.sampled
  }

  static let timerDrift: Body = { args, result in
    let loop = RunLoop.current
    let samples = UnsafeMutablePointer<UInt32>(OpaquePointer(calloc(1, 4)))!
    let state = Shared((fired: 0, wanted: Int(args.count)))
    try hold(loop)
    try loop.run(for: .zero)

    bench_begin(&result)
    let start = bench_now()
    let first = RunLoop.Instant(nanoseconds: start + 1_000_000)
    let timer = RunLoop.Timer(fireDate: first, interval: .milliseconds(1)) { _ in
      state.state.pointee.fired += 1
      if state.state.pointee.fired == state.state.pointee.wanted { loop.stop() }
    }
    try loop.add(timer)
    try loop.run()
    let now = bench_now()
    bench_end(&result)

    let dueAt = start + UInt64(args.count) * 1_000_000
    samples[0] = now > dueAt ? UInt32(truncatingIfNeeded: now - dueAt) : 0
    result.operations = UInt64(args.count)
    result.samples = samples
    result.sample_count = 1
  }

  static let memoryOfTimers: Body = { args, result in
    let loop = RunLoop.current
    try loop.run(for: .zero)
    let start = bench_now() + 60_000_000_000
    let before = bench_usage_now()
    for index in 0..<UInt64(args.size) {
      try loop.add(RunLoop.Timer(fireDate: RunLoop.Instant(nanoseconds: start + index * 1_000_000)) { _ in })
    }
    try loop.run(for: .zero)
    bench_usage_per_item(before, args.size, &result)
  }
}
