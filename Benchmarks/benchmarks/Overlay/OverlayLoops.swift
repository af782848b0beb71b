import CMeasure
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
    try loop.add(RunLoop.FileDescriptorSource(fileDescriptor: bench_counter(), interest: .readable) { _, _ in })
    try pend(loop, args)
    let state = Shared(0)
    for _ in 0..<args.size { try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in state.state.pointee += 1 }) }
    try loop.run(for: .zero)

    bench_begin(&result)
    for _ in 0..<args.count { try loop.run(for: .zero) }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  private static func counterSource() throws -> (source: RunLoop.PortSource, fd: Int32) {
    let fd = bench_counter()
    return (try RunLoop.PortSource(fileDescriptor: fd) { _ in }, fd)
  }

  private static func signal(_ counter: Int32) {
    var one: UInt64 = 1
    require(bench_write(counter, &one, 8) == 8, "write")
  }

  /// The first of `count` modes is the default one.
  private static func modes(_ count: Int64) -> [RunLoop.Mode] {
    [.default] + (1..<max(count, 1)).map { RunLoop.Mode(rawValue: "benchmarks.\($0)") }
  }

  /// `size` counters in the default mode, 4 of them in another; an event in this one, then in that one.
  static let modeSwitch: Body = { args, result in
    let loop = RunLoop.current
    let (first, other) = (RunLoop.Mode.default, modes(2)[1])
    var signalled: Int32 = -1
    for index in 0..<args.size {
      let (source, fd) = try counterSource()
      try loop.add(source)
      if index < 4 { try loop.add(source, to: other) }
      if index == 1 { signalled = fd }
    }
    for index in 0..<4 {  // a counter is asked what it is with its first two events in each mode
      signal(signalled)
      try loop.run(in: index & 1 == 0 ? first : other, returnAfterSourceHandled: true)
    }

    bench_begin(&result)
    for index in 0..<args.count {
      signal(signalled)
      try loop.run(in: index & 1 == 0 ? first : other, returnAfterSourceHandled: true)
    }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  /// `size` sources that are equal by a number, which differs: one more comes and goes.
  static let sourceAddRemove: Body = { args, result in
    let loop = RunLoop.current
    func source(_ number: Int64) -> RunLoop.Source {
      var hooks = RunLoop.Source.Hooks()
      hooks.identity = number
      return RunLoop.Source(hooks: hooks) { _ in }
    }
    for number in 0..<args.size { try loop.add(source(number)) }
    let oneMore = source(args.size)

    bench_begin(&result)
    for _ in 0..<args.count {
      try loop.add(oneMore)
      loop.remove(oneMore)
    }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  static let modeEvent: Body = { args, result in
    let loop = RunLoop.current
    let (source, fd) = try counterSource()
    for mode in modes(args.size) { try loop.add(source, to: mode) }

    bench_begin(&result)
    for _ in 0..<args.count {
      signal(fd)
      try loop.run(in: .default, returnAfterSourceHandled: true)
    }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  /// The modes exist: another counter is in all of them.
  static let modeAddRemove: Body = { args, result in
    let loop = RunLoop.current
    let stays = try counterSource().source
    for mode in modes(max(args.size, 8)) { try loop.add(stays, to: mode) }
    let wanted = modes(args.size)
    let fd = bench_counter()

    bench_begin(&result)
    for _ in 0..<args.count {
      let source = try RunLoop.PortSource(fileDescriptor: fd) { _ in }
      for mode in wanted { try loop.add(source, to: mode) }
      for mode in wanted { loop.remove(source, from: mode) }
    }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  static let memoryOfLoops: Body = { args, result in
    LoopThread { _ = try? RunLoop.current.run(for: .zero) }.join()
    let ready = Semaphore()
    let done = Semaphore()
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
