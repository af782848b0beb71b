import CMeasure
import Glibc
import RunLoopKit

extension Overlay {
  private struct Pipes {
    let ends: UnsafeMutableBufferPointer<Int32>
    var fired = 0
    var written = 0
    let wanted: Int

    mutating func write(_ index: Int) {
      written += 1
      var byte = UInt8(ascii: "e")
      require(bench_write(ends[index], &byte, 1) == 1, "write")
    }
  }

  private static func makePipe() -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    require(pipe(&ends) == 0, "pipe")
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    return (ends[0], ends[1])
  }

  static let descriptorDispatch: Body = { args, result in
    let loop = RunLoop.current
    let size = Int(args.size)
    nonisolated(unsafe) let pipes = Shared(Pipes(ends: .allocate(capacity: size), wanted: Int(args.count))).state
    for index in 0..<size {
      let (readable, writable) = makePipe()
      pipes.pointee.ends[index] = writable
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: readable, interest: .readable, ownership: .closesWhenInvalidated
      ) { _, _ in
        var byte: UInt8 = 0
        require(bench_read(readable, &byte, 1) == 1, "read")
        if pipes.pointee.written < pipes.pointee.wanted { pipes.pointee.write(index + 1 == size ? 0 : index + 1) }
        pipes.pointee.fired += 1
        if pipes.pointee.fired == pipes.pointee.wanted { loop.stop() }
      }
      try loop.add(source)
    }
    try pend(loop, args)
    try loop.run(for: .zero)

    bench_begin(&result)
    for index in 0..<args.active { pipes.pointee.write(Int(index * args.size / args.active)) }
    try loop.run()
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  static let descriptorAddRemove: Body = { args, result in
    let loop = RunLoop.current
    for _ in 0..<args.size {
      try loop.add(RunLoop.FileDescriptorSource(fileDescriptor: bench_counter(), interest: .readable) { _, _ in })
    }
    try loop.run(for: .zero)
    let extra = bench_counter()

    bench_begin(&result)
    for _ in 0..<args.count {
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: extra, interest: .readable) { _, _ in }
      try loop.add(source)
      if args.active != 0 { try loop.run(for: .zero) }
      loop.remove(source)
      if args.active != 0 { try loop.run(for: .zero) }
    }
    bench_end(&result)

    result.operations = UInt64(args.count)
  }

  private struct Echo {
    var sentAt: UInt64 = 0
    var sampled = 0
    let wanted: Int
    let samples: UnsafeMutablePointer<UInt32>
  }

  private static func send(_ byte: Character, to fd: Int32) {
    var byte = byte.asciiValue!
    require(bench_write(fd, &byte, 1) == 1, "write")
  }

  static let echo: Body = { args, result in
    let samples = UnsafeMutablePointer<UInt32>(OpaquePointer(calloc(Int(args.count), 4)))!
    let shared = Shared(Echo(wanted: Int(args.count), samples: samples))
    let gate = Semaphore()
    bench_pin(args.placement, 0)
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    require(socketpair(AF_UNIX, kind, 0, &ends) == 0, "socketpair")
    let (near, far) = (ends[0], ends[1])
    let loop = RunLoop.current
    try loop.add(
      RunLoop.FileDescriptorSource(fileDescriptor: near, interest: .readable) { _, _ in
        echoArrived(shared.state, near, loop)
      })
    let placement = args.placement
    let thread = LoopThread {
      bench_pin(placement, 1)
      let farLoop = RunLoop.current
      let source = try? RunLoop.FileDescriptorSource(fileDescriptor: far, interest: .readable) { _, _ in
        var byte: UInt8 = 0
        require(bench_read(far, &byte, 1) == 1, "read")
        if byte == UInt8(ascii: "q") { farLoop.stop() } else { require(bench_write(far, &byte, 1) == 1, "write") }
      }
      if let source { _ = try? farLoop.add(source) }
      gate.open()
      _ = try? farLoop.run()
    }
    gate.pass()

    bench_begin(&result)
    shared.state.pointee.sentAt = bench_now()
    send("e", to: near)
    try loop.run()
    bench_end(&result)

    send("q", to: near)
    thread.join()
    result.operations = UInt64(args.count)
    result.samples = samples
    result.sample_count = shared.state.pointee.sampled
  }

  private static func echoArrived(_ state: UnsafeMutablePointer<Echo>, _ near: Int32, _ loop: RunLoop) {
    var byte: UInt8 = 0
    require(bench_read(near, &byte, 1) == 1, "read")
    let now = bench_now()
    state.pointee.samples[state.pointee.sampled] = UInt32(truncatingIfNeeded: now - state.pointee.sentAt)
    state.pointee.sampled += 1
    if state.pointee.sampled == state.pointee.wanted { return loop.stop() }
    state.pointee.sentAt = now
    require(bench_write(near, &byte, 1) == 1, "write")
  }

  static let memoryOfDescriptors: Body = { args, result in
    let loop = RunLoop.current
    var numbers: [Int32] = []
    for _ in 0..<args.size { numbers.append(bench_counter()) }
    try loop.run(for: .zero)
    let before = bench_usage_now()
    for number in numbers {
      try loop.add(RunLoop.FileDescriptorSource(fileDescriptor: number, interest: .readable) { _, _ in })
    }
    try loop.run(for: .zero)
    bench_usage_per_item(before, args.size, &result)
  }
}
