import CMeasure
import Glibc
import NIOCore
import NIOPosix

extension Workloads {
  static let wakeRoundTrip: Body = { args, result in
    let shared = Shared(Samples(Int(args.count)))
    let done = Semaphore()
    try withLoops(2, placement: args.placement) { loops in
      bench_begin(&result)
      shared.state.pointee.since = bench_now()
      ping(loops[0], loops[1], shared, done)
      done.pass()
      bench_end(&result)
    }
    shared.state.pointee.store(in: &result)
  }

  private static func ping(_ near: any EventLoop, _ far: any EventLoop, _ shared: Shared<Samples>, _ done: Semaphore) {
    far.execute {
      near.execute {
        let now = bench_now()
        if shared.state.pointee.take(now) { return done.open() }
        shared.state.pointee.since = now
        ping(near, far, shared, done)
      }
    }
  }

  /// A buffer of the bytes, handed over by `execute`.
  static let portRoundTrip: Body = { args, result in
    let shared = Shared(Samples(Int(args.count)))
    let done = Semaphore()
    let text = [UInt8](repeating: 101, count: Int(args.size))
    try withLoops(2, placement: args.placement) { loops in
      bench_begin(&result)
      shared.state.pointee.since = bench_now()
      pass(text, loops[0], loops[1], shared, done)
      done.pass()
      bench_end(&result)
    }
    shared.state.pointee.store(in: &result)
  }

  private static func pass(
    _ text: [UInt8], _ near: any EventLoop, _ far: any EventLoop, _ shared: Shared<Samples>, _ done: Semaphore
  ) {
    let message = ByteBuffer(bytes: text)
    far.execute {
      let answer = ByteBuffer(bytes: message.readableBytesView)
      near.execute {
        let now = bench_now()
        precondition(answer.readableBytes == text.count)
        if shared.state.pointee.take(now) { return done.open() }
        shared.state.pointee.since = now
        pass(text, near, far, shared, done)
      }
    }
  }

  static let post: Body = { args, result in
    let producers = Int(args.size)
    let each = Int(args.count) / producers
    let arrived = Shared((count: 0, wanted: each * producers))
    let (go, done) = (Semaphore(), Semaphore())
    try withLoops(1, placement: args.placement) { loops in
      let loop = loops[0]
      for _ in 0..<producers {
        NIOThread.start {
          bench_pin(args.placement, 1)
          go.pass()
          for _ in 0..<each {
            loop.execute {
              arrived.state.pointee.count += 1
              if arrived.state.pointee.count == arrived.state.pointee.wanted { done.open() }
            }
          }
        }
      }
      bench_begin(&result)
      for _ in 0..<producers { go.open() }
      done.pass()
      bench_end(&result)
    }
    result.operations = UInt64(each * producers)
  }

  static let selfPost: Body = { args, result in
    let state = Shared((count: 0, wanted: Int(args.count)))
    let done = Semaphore()
    try withLoops(1) { loops in
      bench_begin(&result)
      again(loops[0], state, done)
      done.pass()
      bench_end(&result)
    }
    result.operations = UInt64(args.count)
  }

  private static func again(_ loop: any EventLoop, _ state: Shared<(count: Int, wanted: Int)>, _ done: Semaphore) {
    loop.execute {
      state.state.pointee.count += 1
      if state.state.pointee.count == state.state.pointee.wanted { done.open() } else { again(loop, state, done) }
    }
  }

  static let selfPost2: Body = { args, result in
    let state = Shared((count: 0, wanted: Int(args.count)))
    let done = Semaphore()
    try withLoops(1) { loops in
      bench_begin(&result)
      one(loops[0], state, done)
      done.pass()
      bench_end(&result)
    }
    result.operations = UInt64(args.count)
  }

  private static func one(_ loop: any EventLoop, _ state: Shared<(count: Int, wanted: Int)>, _ done: Semaphore) {
    loop.execute {
      state.state.pointee.count += 1
      if state.state.pointee.count == state.state.pointee.wanted { done.open() } else { other(loop, state, done) }
    }
  }

  private static func other(_ loop: any EventLoop, _ state: Shared<(count: Int, wanted: Int)>, _ done: Semaphore) {
    loop.execute {
      state.state.pointee.count += 1
      if state.state.pointee.count == state.state.pointee.wanted { done.open() } else { one(loop, state, done) }
    }
  }

  static let startup: Body = { args, result in
    try withLoops(1) { _ in }
    bench_begin(&result)
    for _ in 0..<args.count {
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      try group.next().submit {}.wait()
      try group.syncShutdownGracefully()
    }
    bench_end(&result)
    result.operations = UInt64(args.count)
  }

  static let memoryOfLoops: Body = { args, result in
    try withLoops(1) { _ in }
    let before = bench_usage_now()
    try withLoops(Int(args.size)) { _ in bench_usage_per_item(before, args.size, &result) }
  }

  /// A byte there and back over a socket pair between two channels on two loops.
  static let echo: Body = { args, result in
    let shared = Shared(Samples(Int(args.count)))
    let done = Semaphore()
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0)
    try withLoops(2, placement: args.placement) { loops in
      let near = try ClientBootstrap(group: loops[0])
        .channelInitializer { $0.eventLoop.makeCompletedFuture(withResultOf: {}) }
        .withConnectedSocket(ends[0]).wait()
      let far = try ClientBootstrap(group: loops[1]).withConnectedSocket(ends[1]).wait()
      try far.eventLoop.submit { try far.pipeline.syncOperations.addHandler(Answer()) }.wait()
      let ask = try near.eventLoop.submit {
        let ask = Ask(shared, done)
        try near.pipeline.syncOperations.addHandler(ask)
        return NIOLoopBound(ask, eventLoop: near.eventLoop)
      }.wait()

      bench_begin(&result)
      near.eventLoop.execute { ask.value.send(on: near) }
      done.pass()
      bench_end(&result)

      try near.close().wait()
      try? far.close().wait()
    }
    shared.state.pointee.store(in: &result)
  }
}

private final class Answer: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer
  func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.writeAndFlush(data, promise: nil) }
}

private final class Ask: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer
  private let shared: Shared<Samples>
  private let done: Semaphore
  private let byte = ByteBuffer(string: "e")

  init(_ shared: Shared<Samples>, _ done: Semaphore) {
    self.shared = shared
    self.done = done
  }

  func send(on channel: any Channel) {
    shared.state.pointee.since = bench_now()
    channel.writeAndFlush(byte, promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let now = bench_now()
    if shared.state.pointee.take(now) { return done.open() }
    shared.state.pointee.since = now
    context.writeAndFlush(wrapOutboundOut(byte), promise: nil)
  }
}

/// A thread that runs a closure and ends.
enum NIOThread {
  private final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  static func start(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Box(body)).toOpaque()
    let status = pthread_create(
      &thread, nil,
      {
        Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().body(); return nil
      }, box)
    precondition(status == 0, "pthread_create")
    pthread_detach(thread)
  }
}
