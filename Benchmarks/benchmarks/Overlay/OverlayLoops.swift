import CPeers
import Glibc
import RunLoopKit

extension Overlay {
  static let startup: Body = { args, result in
    let once: @Sendable () -> Void = { _ = try? RunLoop.current.run(for: .zero) }
    LoopThread(once).join()

    bench_begin(&result)
    for _ in 0..<args.count { LoopThread(once).join() }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  static let iterate: Body = { args, result in
    let loop = RunLoop.current
    try hold(loop)
    let state = Shared(0)
    for _ in 0..<args.size { try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in state.state.pointee += 1 }) }
    try loop.run(for: .zero)

    bench_begin(&result)
    for _ in 0..<args.count { try loop.run(for: .zero) }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  /// `size` counters in the default mode, 4 of them in another; an event in this one, then in that one.
  static let modeSwitch: Body = { args, result in
    let loop = RunLoop.current
    let other: RunLoop.Mode = "benchmarks.other"
    var counters: [Int32] = []
    for index in 0..<args.size {
      let counter = bench_counter()
      let source = try RunLoop.PortSource(fileDescriptor: counter) { _ in }
      try loop.add(source)
      if index < 4 { try loop.add(source, to: other) }
      counters.append(counter)
    }
    let signalled = counters[1]

    bench_begin(&result)
    for index in 0..<args.count {
      var one: UInt64 = 1
      require(bench_write(signalled, &one, 8) == 8, "write")
      try loop.run(in: index & 1 == 0 ? .default : other, returnAfterSourceHandled: true)
    }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  static let memoryOfLoops: Body = { args, result in
    LoopThread { _ = try? RunLoop.current.run(for: .zero) }.join()
    let ready = Gate()
    let done = Gate()
    let before = bench_usage_now()
    for _ in 0..<args.size {
      _ = LoopThread {
        let loop = RunLoop.current
        try? hold(loop)
        _ = try? loop.run(for: .zero)
        ready.open()
        done.pass()
      }
    }
    for _ in 0..<args.size { ready.pass() }
    bench_usage_per_item(before, args.size, &result)
    for _ in 0..<args.size { done.open() }
  }
}
