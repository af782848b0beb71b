import CMeasure

/// How a cost grows with the number of something: one workload at several sizes.
struct Growth: Sendable {
  /// What is counted.
  let axis: String
  let sizes: [Int64]
  private let make: @Sendable (Int64) -> Workload

  var workloads: [Workload] { sizes.map(make) }

  static let all: [Growth] = [
    Growth(axis: "timers pending", sizes: [1000, 10000, 100_000, 1_000_000]) {
      Workload("timer_ic", "\($0)", "\($0) timers pending: insert and cancel one more", count: 100_000, size: $0)
    },
    Growth(axis: "pipes watched", sizes: [100, 300, 1000, 3000, 9000]) {
      Workload("fd_dispatch", "\($0) 1", "\($0) pipes, 1 active", count: 5000, size: $0, active: 1)
    },
    Growth(axis: "modes it is in", sizes: [1, 2, 4, 8]) {
      Workload("mode_event", "\($0)", "an event on a counter in \($0) modes", count: 20000, size: $0)
    },
    Growth(axis: "modes it is added to", sizes: [1, 2, 4, 8, 64, 1000]) {
      Workload(
        "mode_addrm", "\($0)", "add a counter to \($0) modes and remove it", count: max(20000 / $0, 200), size: $0)
    },
    Growth(axis: "counters watched", sizes: [100, 1000, 10000, 100_000]) {
      Workload("fd_addrm", "\($0)", "\($0) watched: add and remove one more", count: 20000, size: $0)
    },
    Growth(axis: "observers", sizes: [0, 1, 3, 10, 30, 100]) {
      Workload("iter", "\($0)", "a pass that does not wait, with \($0) observers", count: 20000, size: $0)
    },
    Growth(axis: "threads that post", sizes: [1, 4, 16, 64, 256, 1000]) {
      Workload("post", "\($0)", "\($0) threads post to a running loop", count: 128_000, size: $0)
    },
    Growth(axis: "posts queued", sizes: [1000, 10000, 100_000, 1_000_000, 10_000_000]) {
      Workload("post_queued", "\($0)", "\($0) posts to a loop that runs later", size: $0)
    },
    Growth(axis: "loops, each on its own thread where it must be", sizes: [10, 100, 1000]) {
      Workload("mem_loop", "\($0)", "memory of one of \($0) loops", .memory, size: $0)
    },
    Growth(axis: "timers", sizes: [1000, 10000, 100_000, 1_000_000]) {
      Workload("mem_timer", "\($0)", "memory of one of \($0) timers", .memory, size: $0)
    },
    Growth(axis: "descriptors", sizes: [1000, 10000, 100_000]) {
      Workload("mem_fd", "\($0)", "memory of one of \($0) descriptors", .memory, size: $0)
    },
  ]
}

extension Workload {
  static let growing: [Workload] = Growth.all.flatMap(\.workloads)
}
