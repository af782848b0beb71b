import CMeasure
import Measuring
import NIOCore

/// Tasks beside an event loop: an actor that is pinned to it.
extension Workloads {
  static let actorHop: Body = { args, result in
    bench_pin(args.placement, 0)  // the threads of the default executor are made from here on
    try withLoops(1, placement: args.placement) { loops in
      let counter = LoopCounter(on: loops[0])
      TaskWork.roundTrips(Int(args.count), &result) { await counter.visit() }
    }
  }

  static let actorJobs: Body = { args, result in
    try withLoops(1) { loops in
      let counter = LoopCounter(on: loops[0])
      TaskWork.visits(Int(args.count), ofTasks: Int(args.size), &result) { await counter.visit() }
    }
  }

  static let actorCall: Body = { args, result in
    try withLoops(1) { loops in
      let (caller, called) = (LoopCounter(on: loops[0]), LoopCounter(on: loops[0]))
      TaskWork.calls(Int(args.count), &result) { await caller.call(called, $0) }
    }
  }
}

private actor LoopCounter {
  nonisolated let loop: any EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
  private var count = 0

  init(on loop: any EventLoop) { self.loop = loop }

  func visit() { count += 1 }

  func call(_ other: LoopCounter, _ count: Int) async { for _ in 0..<count { await other.visit() } }
}
