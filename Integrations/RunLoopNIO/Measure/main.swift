import Dispatch
import Glibc
import NIOCore
import NIOPosix
import RunLoopKit
import RunLoopNIO

// What a hop to the main thread takes while SwiftNIO on it is idle and busy, and how often an idle thread wakes. The
// seconds of the idle part are the first argument; 10 without one.

let idleSeconds = CommandLine.arguments.count > 1 ? Double(CommandLine.arguments[1]) ?? 10 : 10
let hops = 5000

func now() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// On the main thread only.
final class Delays: @unchecked Sendable {
  private var delays: [UInt64] = []
  private let isFull: () -> Void

  init(isFull: @escaping () -> Void) { self.isFull = isFull }

  func arrives(sentAt: UInt64) {
    delays.append(now() - sentAt)
    if delays.count == hops { isFull() }
  }

  func report(_ name: String) {
    delays.sort()
    func microseconds(_ part: Double) -> Int { Int(delays[Int(Double(delays.count - 1) * part)] / 1000) }
    print("\(name): p50 \(microseconds(0.5)) us, p99 \(microseconds(0.99)) us, most \(microseconds(1)) us")
  }
}

/// A pipe of SwiftNIO's own that is always readable, with 100 us of work each time.
final class Burner: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let writing: Int32

  init(writing: Int32) { self.writing = writing }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let end = now() + 100_000
    while now() < end {}
    write(writing, "x", 1)
  }
}

func addBurner(to eventLoop: any EventLoop) {
  var ends: [Int32] = [0, 0]
  guard pipe(&ends) == 0 else { fatalError("pipe: \(errno)") }
  let writing = ends[1]
  NIOPipeBootstrap(group: eventLoop)
    .channelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(Burner(writing: writing))
      }
    }
    .takingOwnershipOfDescriptor(input: ends[0])
    .whenFailure { fatalError("\($0)") }
  write(writing, "x", 1)
}

/// Other threads send, one hop about every millisecond, while an event loop on the main thread serves RunLoop.main.
func measure(_ name: String, isBusy: Bool, _ send: @escaping @Sendable (Delays) async -> Void) {
  MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { eventLoop in
    do { try NIOHost(of: .main, on: eventLoop) } catch { fatalError("\(error)") }
    if isBusy { addBurner(to: eventLoop) }
    let delays = Delays { eventLoop.shutdownGracefully { _ in } }
    Task.detached {
      for _ in 0..<hops {
        try await Task.sleep(for: .microseconds(UInt64.random(in: 500...1500)))
        await send(delays)
      }
    }
    last = delays
  }
  last?.report("SwiftNIO \(isBusy ? "busy" : "idle"), \(name)")
}

nonisolated(unsafe) var last: Delays?

for isBusy in [false, true] {
  measure("RunLoop.main.perform", isBusy: isBusy) { delays in
    let sentAt = now()
    try? RunLoop.main.perform { delays.arrives(sentAt: sentAt) }
  }
  measure("DispatchQueue.main", isBusy: isBusy) { delays in
    let sentAt = now()
    DispatchQueue.main.async { delays.arrives(sentAt: sentAt) }
  }
  measure("@MainActor", isBusy: isBusy) { delays in
    let sentAt = now()
    await MainActor.run { delays.arrives(sentAt: sentAt) }
  }
}

/// Sleeps of an event loop that have ended; it counts only those of a group's thread.
final class Ticks: NIOEventLoopMetricsDelegate, @unchecked Sendable {
  var count = 0

  func processedTick(info: NIOEventLoopTickInfo) { count += 1 }
}

let ticks = Ticks()
let group = MultiThreadedEventLoopGroup(numberOfThreads: 1, metricsDelegate: ticks)
let eventLoop = group.next()
try eventLoop.submit { try NIOHost(of: .current, on: eventLoop) }.map { _ in }.wait()
let wakes = try eventLoop.scheduleTask(in: .milliseconds(100)) { () -> Int in
  let before = ticks.count
  return before
}.futureResult.flatMap { before in
  eventLoop.scheduleTask(in: .nanoseconds(Int64(idleSeconds * 1e9))) { ticks.count - before }.futureResult
}.wait()
// The tick that began with the first count ends in between.
print("idle for \(idleSeconds) s: \(wakes - 1) wakes, beside the end")
try group.syncShutdownGracefully()
