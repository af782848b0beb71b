import CMeasure
import Dispatch
import Glibc
import RunLoopKit
import Synchronization

extension Overlay {
  private struct RoundTrip {
    var near: RunLoop.Source?
    var far: RunLoop.Source?
    var farLoop: RunLoop?
    var sentAt: UInt64 = 0
    var sampled = 0
    let wanted: Int
    let samples: UnsafeMutablePointer<UInt32>
    var isOver = false
  }

  static let wakeRoundTrip: Body = { args, result in
    let count = Int(args.count)
    let samples = UnsafeMutablePointer<UInt32>(OpaquePointer(calloc(count, 4)))!
    let shared = Shared(RoundTrip(wanted: count, samples: samples))
    let gate = Semaphore()
    bench_pin(args.placement, 0)
    let loop = RunLoop.current
    let near = RunLoop.Source { _ in nearWoken(shared.state, loop) }
    shared.state.pointee.near = near
    try loop.add(near)
    try pend(loop, args)
    let placement = args.placement
    let spinLimit = Duration.microseconds(args.spin_us)
    loop.spinLimit = spinLimit
    let thread = LoopThread {
      bench_pin(placement, 1)
      let farLoop = RunLoop.current
      farLoop.spinLimit = spinLimit
      let far = RunLoop.Source { _ in
        if shared.state.pointee.isOver { return farLoop.stop() }
        shared.state.pointee.near!.signal()
        loop.wakeUp()
      }
      shared.state.pointee.far = far
      shared.state.pointee.farLoop = farLoop
      do {
        try farLoop.add(far)
        try pend(farLoop, args)
      } catch {
        fatalError("\(error)")
      }
      gate.open()
      _ = try? farLoop.run()
    }
    gate.pass()

    bench_begin(&result)
    shared.state.pointee.sentAt = bench_now()
    shared.state.pointee.far!.signal()
    shared.state.pointee.farLoop!.wakeUp()
    try loop.run()
    bench_end(&result)

    shared.state.pointee.isOver = true
    shared.state.pointee.far!.signal()
    shared.state.pointee.farLoop!.wakeUp()
    thread.join()
    result.operations = UInt64(count)
    result.samples = samples
    result.sample_count = shared.state.pointee.sampled
  }

  private static func nearWoken(_ state: UnsafeMutablePointer<RoundTrip>, _ loop: RunLoop) {
    let now = bench_now()
    state.pointee.samples[state.pointee.sampled] = UInt32(truncatingIfNeeded: now - state.pointee.sentAt)
    state.pointee.sampled += 1
    if state.pointee.sampled == state.pointee.wanted { return loop.stop() }
    state.pointee.sentAt = now
    state.pointee.far!.signal()
    state.pointee.farLoop!.wakeUp()
  }

  static let post: Body = { args, result in
    let producers = Int(args.size)
    let each = Int(args.count) / producers
    let arrived = Shared((count: 0, wanted: each * producers))
    let gate = Semaphore()
    let posted = Semaphore()
    let placement = args.placement
    let isHeld = args.active == 1
    bench_pin(placement, 0)
    let loop = RunLoop.current
    try hold(loop)
    if isHeld {
      try loop.perform(in: .default) {
        for _ in 0..<producers { gate.open() }
        for _ in 0..<producers { posted.pass() }
      }
    }
    for _ in 0..<producers {
      _ = LoopThread {
        defer { posted.open() }
        bench_pin(placement, 1)
        gate.pass()
        for _ in 0..<each {
          try? loop.perform(in: .default) {
            arrived.state.pointee.count += 1
            if arrived.state.pointee.count == arrived.state.pointee.wanted { loop.stop() }
          }
        }
      }
    }

    bench_begin(&result)
    if !isHeld { for _ in 0..<producers { gate.open() } }
    try loop.run()
    bench_end(&result)

    result.operations = UInt64(each * producers)
  }

  static let postQueued: Body = { args, result in
    let loop = RunLoop.current
    let arrived = Shared((count: 0, wanted: Int(args.size)))
    try hold(loop)

    bench_begin(&result)
    for _ in 0..<args.size {
      try loop.perform(in: .default) {
        arrived.state.pointee.count += 1
        if arrived.state.pointee.count == arrived.state.pointee.wanted { loop.stop() }
      }
    }
    try loop.run()
    bench_end(&result)

    result.operations = UInt64(args.size)
  }

  static let selfPost: Body = { args, result in
    let loop = RunLoop.current
    try hold(loop)
    try pend(loop, args)
    let state = Shared((count: 0, wanted: Int(args.count)))

    bench_begin(&result)
    again(loop, state)
    try loop.run()
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  /// The same while `size` blocks wait for another mode.
  static let selfPostBesideOthers: Body = { args, result in
    let loop = RunLoop.current
    for _ in 0..<args.size { try loop.enqueue(in: "benchmarks.other") {} }
    try loop.enqueue {}
    try loop.run(for: .zero)
    try selfPost(args, &result)
  }

  static let selfPost2: Body = { args, result in
    let loop = RunLoop.current
    try hold(loop)
    let state = Shared((count: 0, wanted: Int(args.count)))

    bench_begin(&result)
    one(loop, state)
    try loop.run()
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  private static func one(_ loop: RunLoop, _ state: Shared<(count: Int, wanted: Int)>) {
    try? loop.perform(in: .default) {
      state.state.pointee.count += 1
      if state.state.pointee.count == state.state.pointee.wanted { loop.stop() } else { other(loop, state) }
    }
  }

  private static func other(_ loop: RunLoop, _ state: Shared<(count: Int, wanted: Int)>) {
    try? loop.perform(in: .default) {
      state.state.pointee.count += 1
      if state.state.pointee.count == state.state.pointee.wanted { loop.stop() } else { one(loop, state) }
    }
  }

  private static func again(_ loop: RunLoop, _ state: Shared<(count: Int, wanted: Int)>) {
    try? loop.perform(in: .default) {
      state.state.pointee.count += 1
      if state.state.pointee.count == state.state.pointee.wanted { loop.stop() } else { again(loop, state) }
    }
  }

  /// A function of the main dispatch queue sends the next one.
  static let mainQueue: Body = { args, result in
    let loop = RunLoop.current
    try hold(loop)
    let state = Shared((count: 0, wanted: Int(args.count)))

    bench_begin(&result)
    sendNext(loop, state)
    try loop.run()
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  private static func sendNext(_ loop: RunLoop, _ state: Shared<(count: Int, wanted: Int)>) {
    DispatchQueue.main.async {
      state.state.pointee.count += 1
      if state.state.pointee.count == state.state.pointee.wanted { loop.stop() } else { sendNext(loop, state) }
    }
  }
}
