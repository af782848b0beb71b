import CMeasure
import Glibc
import NIOCore
import NIOPosix

/// An `EventLoop` of NIOPosix: `execute` to wake, to post and to run again, `scheduleTask` and its `cancel` as timers (a
/// timer cannot be given another date), a `Channel` around the socket to echo. It watches no bare descriptors and has no
/// observers. A loop belongs to the thread that its group made for it.
enum Workloads {
  typealias Body = @Sendable (bench_args, inout bench_result) throws -> Void

  static let all: [String: Body] = [
    "wake_rtt": wakeRoundTrip, "post": post, "self_post": selfPost, "self_post2": selfPost2,
    "port_rtt": portRoundTrip, "timer_ic": timerInsertCancel, "timer_rearm": timerRearm, "timer_fire": timerFire,
    "timer_firewin": timerFireWindow, "timer_late": timerLate, "timer_drift": timerDrift, "echo": echo,
    "startup": startup, "mem_loop": memoryOfLoops, "mem_timer": memoryOfTimers, "actor_hop": actorHop,
    "actor_jobs": actorJobs, "actor_call": actorCall,
  ]

  /// A group and its loops, whose threads are pinned.
  static func withLoops(
    _ count: Int, placement: Int64 = 0, _ body: ([any EventLoop]) throws -> Void
  ) throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: count)
    let loops = Array(group.makeIterator())
    for (side, loop) in loops.enumerated() { try loop.submit { bench_pin(placement, Int32(side)) }.wait() }
    try body(loops)
    try group.syncShutdownGracefully()
  }
}

extension Workloads {
  /// Measures on the thread of a loop.
  static func onLoop(
    _ result: inout bench_result, _ body: @escaping @Sendable (any EventLoop, inout bench_result) -> Void
  ) throws {
    let shared = Shared(result)
    try withLoops(1) { loops in
      let loop = loops[0]
      try loop.submit { body(loop, &shared.state.pointee) }.wait()
    }
    result = shared.state.pointee
  }
}

/// What the loops' threads share without a lock: each field has one writer at a time.
final class Shared<State>: @unchecked Sendable {
  let state: UnsafeMutablePointer<State>

  init(_ initial: State) {
    state = .allocate(capacity: 1)
    state.initialize(to: initial)
  }
}

/// What a measured thread waits for.
final class Semaphore: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  init() { sem_init(semaphore, 0, 0) }
  func open() { sem_post(semaphore) }
  func pass() { while sem_wait(semaphore) != 0 {} }
}

/// Times of round trips, or how late something was.
struct Samples {
  let values: UnsafeMutablePointer<UInt32>
  let wanted: Int
  var taken = 0
  var since: UInt64 = 0

  init(_ wanted: Int) {
    self.wanted = wanted
    values = .allocate(capacity: wanted)
    values.initialize(repeating: 0, count: wanted)
  }

  /// True with the last one.
  mutating func take(_ now: UInt64) -> Bool {
    values[taken] = now > since ? UInt32(truncatingIfNeeded: now - since) : 0
    taken += 1
    return taken == wanted
  }

  func store(in result: inout bench_result) {
    result.operations = UInt64(wanted)
    result.samples = values
    result.sample_count = taken
  }
}
