import CMeasure
import Measuring
import RunLoopKit

/// Tasks beside a loop: an actor that is pinned to it, its clock, and a sequence of messages.
extension Overlay {
  static let actorHop: Body = { args, result in
    try onLoopThread(args) { loop in
      let counter = LoopCounter(on: loop)
      TaskWork.roundTrips(Int(args.count), &result) { await counter.visit() }
    }
  }

  static let actorJobs: Body = { args, result in
    try onLoopThread(args) { loop in
      let counter = LoopCounter(on: loop)
      TaskWork.visits(Int(args.count), ofTasks: Int(args.size), &result) { await counter.visit() }
    }
  }

  /// Of the loop's executor, in a task that prefers it or does not, or of one of ten lines.
  static let actorCall: Body = { args, result in
    try onLoopThread(args) { loop in
      let executor: any SerialExecutor = args.size == 2 ? TenLines(loop) : loop.executor
      let (caller, called) = (PinnedCaller(on: executor), PinnedCaller(on: executor))
      TaskWork.calls(Int(args.count), on: args.size == 1 ? loop.executor : nil, &result) {
        await caller.call(called, $0)
      }
    }
  }

  static let taskSleep: Body = { args, result in
    try onLoopThread(args) { loop in
      let clock = loop.clock
      TaskWork.sleeps(Int(args.count), on: executor(args, loop), &result) { due in
        try await clock.sleep(until: RunLoop.Instant(nanoseconds: due), tolerance: .zero)
      }
    }
  }

  static let taskStream: Body = { args, result in
    try onLoopThread(args) { loop in
      let count = Int(args.count)
      let (right, messages) = loop.messages(queueLimit: Int(args.size))
      TaskWork.elements(&result, count, on: executor(args, loop)) {
        for number in 0..<count { try right.send(RunLoop.Message(id: UInt32(truncatingIfNeeded: number))) }
      } receive: {
        var left = count
        for try await _ in messages {
          left -= 1
          if left == 0 { return }
        }
      }
    }
  }

  /// The task runs on the loop, or beside it.
  private static func executor(_ args: bench_args, _ loop: RunLoop) -> RunLoop.Executor? {
    args.active == 1 ? loop.executor : nil
  }

  /// Beside a thread with a loop that runs.
  private static func onLoopThread(_ args: bench_args, _ body: (RunLoop) throws -> Void) throws {
    let placement = args.placement
    bench_pin(placement, 0)  // the threads of the default executor are made from here on
    let thread = RunLoop.Thread(name: "bench") { loop in
      bench_pin(placement, 0)
      try hold(loop)
    }
    try thread.start()
    try body(thread.loop!)
    thread.stop(.now)
    try thread.join()
  }
}

private actor PinnedCaller {
  nonisolated let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private var count = 0

  init(on executor: any SerialExecutor) { self.executor = executor }

  func visit() { count += 1 }

  func call(_ other: PinnedCaller, _ count: Int) async { for _ in 0..<count { await other.visit() } }
}

/// What a program writes that has a loop, and no executor of it.
private final class TenLines: SerialExecutor {
  private let loop: RunLoop

  init(_ loop: RunLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    do {
      try loop.perform { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    } catch {
      fatalError("\(error)")
    }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}

private actor LoopCounter {
  nonisolated let loop: RunLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
  private var count = 0

  init(on loop: RunLoop) { self.loop = loop }

  func visit() { count += 1 }
}
