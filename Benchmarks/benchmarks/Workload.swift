import CPeers

/// One line of the table: a workload with its arguments.
struct Workload: Sendable {
  enum Metric: String, Sendable {
    case perOperation = "ns_per_op"
    case latency = "p50_ns"
    case drift = "drift_ns"
    case memory = "bytes_per_item"
  }

  let name: String
  let arguments: String
  let what: String
  let metric: Metric
  /// Which numbers of the full run `--quick` makes smaller, and by how much.
  let quickDivisor: Int64
  let isThreaded: Bool
  private let count: Int64
  let size: Int64
  private let active: Int64
  let placement: bench_placement

  init(
    _ name: String, _ arguments: String = "", _ what: String, _ metric: Metric = .perOperation, count: Int64 = 0,
    size: Int64 = 0, active: Int64 = 0, placement: bench_placement = BENCH_FREE, quick: Int64 = 10,
    isThreaded: Bool = false
  ) {
    self.name = name
    self.arguments = arguments
    self.what = what
    self.metric = metric
    self.count = count
    self.size = size
    self.active = active
    self.placement = placement
    self.isThreaded = isThreaded
    quickDivisor = quick
  }

  var label: String { arguments.isEmpty ? name : "\(name) \(arguments)" }
  var fileName: String { label.split(separator: " ").joined(separator: "-") }

  func args(divisor: Int64) -> bench_args {
    bench_args(
      count: count == 0 ? 0 : max(count / divisor, 2), size: size, active: active, placement: Int64(placement.rawValue))
  }
}

extension Workload {
  static let all: [Workload] = threads + timers + descriptors + loops

  private static let threads = [
    Workload(
      "wake_rtt", "same", "two loops on two threads, one CPU; a wake there and back", .latency, count: 20000,
      placement: BENCH_SAME_CPU, quick: 5, isThreaded: true),
    Workload(
      "wake_rtt", "split", "the same on two CPUs", .latency, count: 4000, placement: BENCH_SPLIT_CPUS, quick: 10,
      isThreaded: true),
    Workload("wake_rtt", "free", "the same, not pinned", .latency, count: 4000, quick: 10, isThreaded: true),
    Workload(
      "post", "1", "one thread posts to a running loop on another CPU", count: 200_000, size: 1,
      placement: BENCH_SPLIT_CPUS, isThreaded: true),
    Workload("post", "2", "two threads post to a running loop", count: 200_000, size: 2, isThreaded: true),
    Workload("self_post", "", "a callback queues the next one on its own loop", count: 200_000),
  ]

  private static let timers = [
    Workload(
      "timer_ic", "1000", "1000 timers pending: insert and cancel one more", count: 200_000, size: 1000),
    Workload(
      "timer_ic", "100000", "100000 timers pending: insert and cancel one more", count: 200_000, size: 100_000),
    Workload(
      "timer_rearm", "100000", "push out one of 100000 idle timeouts", count: 200_000, size: 100_000),
    Workload("timer_fire", "10000", "10000 timers are due: one run fires them", size: 10000),
    Workload("timer_late", "1ms", "a timer of 1 ms, armed again: how late", .latency, count: 300, quick: 6),
    Workload("timer_drift", "1ms", "a timer every 1 ms: how late its last date", .drift, count: 300, quick: 6),
  ]

  private static let descriptors = [
    Workload(
      "fd_dispatch", "100 1", "100 pipes, 1 active: read and pass on a byte", count: 50000, size: 100, active: 1),
    Workload(
      "fd_dispatch", "1000 1", "1000 pipes, 1 active: read and pass on a byte", count: 50000, size: 1000, active: 1),
    Workload(
      "fd_dispatch", "1000 100", "1000 pipes, 100 active", count: 50000, size: 1000, active: 100),
    Workload(
      "echo", "same", "a byte there and back between two loops, one CPU", .latency, count: 10000,
      placement: BENCH_SAME_CPU, quick: 5, isThreaded: true),
    Workload(
      "echo", "split", "the same on two CPUs", .latency, count: 4000, placement: BENCH_SPLIT_CPUS, isThreaded: true),
    Workload("fd_addrm", "1000", "1000 watched: add and remove one more", count: 20000, size: 1000),
    Workload(
      "fd_addrm", "1000 pass", "the same, with a pass after each", count: 20000, size: 1000, active: 1),
  ]

  private static let loops = [
    Workload("startup", "", "make a loop, run it empty, destroy it", count: 500),
    Workload("iter", "0", "a pass that does not wait, nothing to do", count: 50000),
    Workload("iter", "1", "the same with an observer", count: 50000, size: 1),
    Workload("iter", "10", "the same with 10 observers", count: 50000, size: 10),
    Workload("mode_switch", "", "an event in a mode of 1000 counters, one in a mode of 4", count: 10000, size: 1000),
    Workload("mem_loop", "100", "memory of a loop", .memory, size: 100),
    Workload("mem_timer", "100000", "memory of a timer, armed", .memory, size: 100_000),
    Workload("mem_fd", "5000", "memory of a watched descriptor", .memory, size: 5000),
  ]
}
