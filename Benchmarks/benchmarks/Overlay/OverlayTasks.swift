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

private actor LoopCounter {
  nonisolated let loop: RunLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
  private var count = 0

  init(on loop: RunLoop) { self.loop = loop }

  func visit() { count += 1 }
}
