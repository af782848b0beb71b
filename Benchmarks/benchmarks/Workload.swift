import CMeasure

/// One line of the table: a workload with its arguments.
struct Workload: Sendable {
  enum Metric: String, Sendable {
    case perOperation = "ns_per_op"
    case latency = "p50_ns"
    case processor = "cpu_ns_per_op"
    case drift = "drift_ns"
    case memory = "bytes_per_item"
    case moves = "moves_per_op"
  }

  /// What `--quick` measures less of, and instructions, which are counted fifty times slower than they run.
  enum Quick: Sendable {
    case fewerOperations(Int64)
    /// Of timers that are spread over a window: of both.
    case smallerWindow(Int64)
    case same
  }

  let name: String
  let arguments: String
  let what: String
  let metric: Metric
  private(set) var parameters: bench_args
  let quick: Quick
  /// Runs on the main thread, in whose loop the main dispatch queue is served, too.
  let isOnMain: Bool
  /// Takes too long for `--quick`, or says little that a row which stays does not: measured by it only if asked for by name.
  let isLong: Bool

  init(
    _ name: String, _ arguments: String = "", _ what: String, _ metric: Metric = .perOperation, count: Int64 = 0,
    size: Int64 = 0, active: Int64 = 0, placement: bench_placement = BENCH_FREE, windowMs: Int64 = 0,
    toleranceUs: Int64 = 0, spinUs: Int64 = 0, pending: Int64 = 0, quick: Quick = .fewerOperations(10),
    isLong: Bool = false,
    isOnMain: Bool = false
  ) {
    self.name = name
    self.arguments = arguments
    self.what = what
    self.metric = metric
    self.quick = quick
    self.isLong = isLong
    self.isOnMain = isOnMain
    parameters = bench_args(
      count: count, size: size, active: active, placement: Int64(placement.rawValue), window_ms: windowMs,
      tolerance_us: toleranceUs, spin_us: spinUs, pending: pending)
  }

  /// The count depends a little on who runs when.
  func varies(_ count: Target.Count) -> Bool {
    switch name {
    case "wake_rtt", "post", "actor_hop", "actor_jobs", "actor_call", "task_sleep", "task_stream", "port_rtt",
      "port_xrtt", "port_big", "echo", "timer_firewin":
      true
    case "self_post", "self_post_other", "self_post2", "timer_late":
      // Where other work takes the processor, the clock that these read goes on.
      count == .instructions
    default: false
    }
  }
  /// As its system calls are judged. It is chance how often a loop overtakes those that post to it, and sleeps: 0.002 to 0.154 calls a post,
  /// by one program on one quiet machine. So the loop is awake until all is posted, and posters take turns on one CPU.
  var judged: Workload {
    guard name == "post" else { return self }
    var judged = self
    judged.parameters.active = 1
    judged.parameters.placement = Int64(BENCH_SAME_CPU.rawValue)
    return judged
  }

  var label: String { arguments.isEmpty ? name : "\(name) \(arguments)" }
  /// Open at a time, about.
  var descriptors: Int64 {
    switch name {
    case "fd_dispatch": 100 + 2 * parameters.size
    case "fd_addrm", "mem_fd": 100 + parameters.size
    case "mem_loop": 100 + 4 * parameters.size
    case "mode_addrm", "mode_event": 100 + 2 * parameters.size
    default: 100
    }
  }

  /// For a subject that does one of `divisor` operations.
  func args(divisor: Int64, isQuick: Bool) -> bench_args {
    var args = parameters
    var divisor = divisor
    if isQuick {
      switch quick {
      case .fewerOperations(let part): divisor *= part
      case .smallerWindow(let part):
        args.size /= part
        args.window_ms /= part
      case .same: break
      }
    }
    if args.count > 0 { args.count = max(args.count / divisor, 2) }
    return args
  }
}
