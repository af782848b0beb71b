import CMeasure
import Measuring

/// Swift Concurrency without RunLoopKit: the default executor with its `Task.sleep` and `AsyncStream`, and the main
/// actor, whose queue libdispatch serves on the main thread.
enum Concurrency {
  /// An actor on the default executor runs where its caller does: a visit is no hop, so it has no row of hops.
  static let ofDefaultExecutor: [String: Overlay.Body] = [
    "actor_jobs": { args, result in
      let counter = VisitCounter()
      TaskWork.visits(Int(args.count), ofTasks: Int(args.size), &result) { await counter.visit() }
    },
    "task_sleep": { args, result in
      let clock = SuspendingClock()
      TaskWork.sleeps(Int(args.count), &result) { _ in
        try await clock.sleep(until: clock.now.advanced(by: .milliseconds(1)), tolerance: .zero)
      }
    },
    // Without a limit: whoever yields to one never waits.
    "task_stream": { args, result in
      let count = Int(args.count)
      let (stream, continuation) = AsyncStream.makeStream(of: UInt32.self)
      TaskWork.elements(&result, count) {
        for number in 0..<count { continuation.yield(UInt32(truncatingIfNeeded: number)) }
      } receive: {
        var left = count
        for await _ in stream {
          left -= 1
          if left == 0 { return }
        }
      }
    },
  ]

  static let ofMainActor: [String: Overlay.Body] = [
    "actor_hop": { args, result in
      bench_pin(args.placement, 0)
      TaskWork.roundTrips(Int(args.count), &result) { await visitMainActor() }
    },
    "actor_jobs": { args, result in
      TaskWork.visits(Int(args.count), ofTasks: Int(args.size), &result) { await visitMainActor() }
    },
  ]
}

private actor VisitCounter {
  private var count = 0
  func visit() { count += 1 }
}

@MainActor private var visits = 0
@MainActor private func visitMainActor() { visits += 1 }
