import CMeasure
import CPeers
import Measuring

/// What is measured: RunLoopKit's Swift API, one of the subjects in C, or another program that speaks as this one does.
struct Subject: Sendable {
  enum Kind: Sendable {
    /// In Swift, here.
    case closures([String: Overlay.Body])
    case native(bench_subject)
    case program(Program)
  }

  let name: String
  let title: String
  let kind: Kind
  /// It can look for a wake before it sleeps, or is the measure for those that can.
  private let spins: Bool
  /// It can be asked to have a timer that is not due.
  private let pends: Bool
  /// The others are on the main thread what they are on any.
  private let servesMainQueue: Bool
  /// By workload; none: all of it.
  private let limits: [String: Limit]

  private init(
    _ name: String, _ title: String, _ kind: Kind, spins: Bool = false, pends: Bool = true,
    servesMainQueue: Bool = false, _ limits: [String: Limit] = [:]
  ) {
    (self.name, self.title, self.kind, self.spins, self.pends) = (name, title, kind, spins, pends)
    (self.servesMainQueue, self.limits) = (servesMainQueue, limits)
  }

  static let floor = "floor"
  static let core = "core"
  static let overlay = "overlay"
  /// Its workloads need a main thread that serves libdispatch's main queue.
  static let mainActor = "main"
  static let ours: Set<String> = [core, overlay]
  var isPeer: Bool { name != Self.floor && !Self.ours.contains(name) }

  /// All of them, in the order of the tables: what they are, and what they cannot do, or not in reasonable time.
  static let all = [
    Subject(floor, "hand-written C, the fewest system calls", .native(bench_floor), spins: true),
    Subject(
      core, "RunLoopKit's C core, rlc_loop", .native(bench_core), spins: true, ["iter": Limit(onlyWithout: true)]),
    Subject(
      overlay, "RunLoopKit's Swift API, closures", .closures(Overlay.workloads), spins: true, servesMainQueue: true),
    Subject(
      "cf", "CFRunLoop of swift-corelibs-foundation", .native(bench_cf), servesMainQueue: true,
      [
        "post_queued": Limit(largest: 1_000_000), "self_post": Limit(divisor: 10), "self_post2": Limit(divisor: 10),
        "timer_ic": Limit(divisor: 1000, largest: 100_000), "timer_rearm": Limit(divisor: 1000),
        "timer_fire": Limit(largest: 10_000), "fd_dispatch": Limit(divisor: 50), "echo": Limit(divisor: 2),
        "fd_addrm": Limit(divisor: 10),
      ]),
    Subject(
      "dispatch", "libdispatch, a serial queue", .native(bench_dispatch),
      [
        "wake_rtt": Limit(onlyOneCPU: true), "fd_dispatch": Limit(divisor: 10), "echo": Limit(onlyOneCPU: true),
      ]),
    Subject("libuv", "libuv 1", .native(bench_libuv), ["timer_firewin": Limit(onlyTolerant: true)]),
    Subject("libev", "libev 4, epoll", .native(bench_libev), ["timer_firewin": Limit(onlyTolerant: true)]),
    Subject(
      "glib", "GLib 2, GMainContext", .native(bench_glib),
      [
        "post": Limit(divisor: 2), "post_queued": Limit(largest: 100_000), "self_post": Limit(divisor: 2),
        "self_post2": Limit(divisor: 2), "timer_firewin": Limit(onlyTolerant: true),
        "fd_dispatch": Limit(divisor: 25), "fd_addrm": Limit(divisor: 20),
      ]),
    Subject("sd-event", "sd-event of systemd", .native(bench_sd_event), ["timer_fire": Limit(largest: 10_000)]),
    Subject(
      "tasks", "Swift's default executor, Task.sleep and AsyncStream", .closures(Concurrency.ofDefaultExecutor)),
    Subject(mainActor, "the main actor, on libdispatch's main queue", .closures(Concurrency.ofMainActor)),
    Subject(
      "nio", "SwiftNIO, an event loop of NIOPosix", .program(Program(package: "Benchmarks/nio")), pends: false,
      [
        "timer_ic": Limit(divisor: 1000), "timer_rearm": Limit(divisor: 1000),
        "timer_firewin": Limit(onlyExact: true), "startup": Limit(divisor: 5), "actor_call": Limit(onlyWithout: true),
      ]),
  ]

  /// What is missing; nil if it can be measured. Loads its library, if it has one: in the process that measures it and no
  /// other, since each library costs every thread memory and time.
  var absence: String? {
    switch kind {
    case .closures: nil
    case .native(let native): native.load().map { String(cString: $0) }
    case .program(let program): program.absence
    }
  }

  /// How much fewer operations it does of this workload; nil if it has none such.
  func divisor(for workload: Workload) -> Int64? {
    let args = workload.parameters
    if workload.isOnMain && !servesMainQueue { return nil }
    if args.spin_us != 0 && !spins || args.pending != 0 && !pends { return nil }
    let limit = limits[workload.name] ?? Limit()
    return has(workload.name) && limit.covers(args) ? limit.divisor : nil
  }

  private func has(_ workload: String) -> Bool {
    switch kind {
    case .closures(let workloads): workloads[workload] != nil
    case .native(var native): bench_find_workload(&native, workload) != nil
    case .program(let program): program.workloads.contains(workload)
    }
  }

  /// On a thread of its own, in a process of its own.
  func run(_ workload: String, _ args: bench_args, _ result: inout bench_result) throws {
    var args = args
    switch kind {
    case .closures(let workloads): try workloads[workload]?(args, &result)
    case .native(var native): bench_find_workload(&native, workload)?(&args, &result)
    case .program: throw Failure("\(name): measured by a program of its own")
    }
  }
}
