import CMeasure

/// How a cost grows with the number of something: one workload at several sizes, and a line chart of them.
struct Growth: Sendable {
  let name: String
  let title: String
  /// What the horizontal axis counts.
  let axis: String
  let sizes: [Int64]
  private let make: @Sendable (Int64) -> Workload

  func workload(_ size: Int64) -> Workload { make(size) }
  var workloads: [Workload] { sizes.map(make) }

  static let all: [Growth] = [
    Growth(
      name: "timers", title: "Inserting and cancelling a timer", axis: "timers pending",
      sizes: [1000, 10000, 100_000, 1_000_000]
    ) {
      Workload("timer_ic", "\($0)", "\($0) timers pending: insert and cancel one more", count: 100_000, size: $0)
    },
    Growth(
      name: "descriptors", title: "An event on one of many descriptors", axis: "pipes watched",
      sizes: [100, 300, 1000, 3000, 9000]
    ) {
      Workload("fd_dispatch", "\($0) 1", "\($0) pipes, 1 active", count: 5000, size: $0, active: 1)
    },
    Growth(
      name: "modes", title: "An event on a counter that is in several modes", axis: "modes it is in",
      sizes: [1, 2, 4, 8]
    ) {
      Workload("mode_event", "\($0)", "an event on a counter in \($0) modes", count: 20000, size: $0)
    },
    Growth(
      name: "memberships", title: "Adding a counter to several modes and removing it", axis: "modes it is added to",
      sizes: [1, 2, 4, 8, 64, 1000]
    ) {
      Workload(
        "mode_addrm", "\($0)", "add a counter to \($0) modes and remove it", count: max(20000 / $0, 200), size: $0)
    },
    Growth(
      name: "registrations", title: "Adding and removing one of many descriptors", axis: "counters watched",
      sizes: [100, 1000, 10000, 100_000]
    ) {
      Workload("fd_addrm", "\($0)", "\($0) watched: add and remove one more", count: 20000, size: $0)
    },
    Growth(
      name: "observers", title: "A pass that calls observers", axis: "observers", sizes: [0, 1, 3, 10, 30, 100]
    ) {
      Workload("iter", "\($0)", "a pass that does not wait, with \($0) observers", count: 20000, size: $0)
    },
    Growth(
      name: "threads", title: "Posting to one loop from many threads", axis: "threads that post",
      sizes: [1, 4, 16, 64, 256, 1000]
    ) {
      Workload("post", "\($0)", "\($0) threads post to a running loop", count: 128_000, size: $0)
    },
    Growth(
      name: "posts", title: "Posting to a loop that does not run yet, and running it", axis: "posts queued",
      sizes: [1000, 10000, 100_000, 1_000_000, 10_000_000]
    ) {
      Workload("post_queued", "\($0)", "\($0) posts to a loop that runs later", size: $0)
    },
    Growth(
      name: "loop-memory", title: "Memory of a loop", axis: "loops, each on its own thread where it must be",
      sizes: [10, 100, 1000]
    ) {
      Workload("mem_loop", "\($0)", "memory of one of \($0) loops", .memory, size: $0)
    },
    Growth(
      name: "timer-memory", title: "Memory of an armed timer", axis: "timers", sizes: [1000, 10000, 100_000, 1_000_000]
    ) {
      Workload("mem_timer", "\($0)", "memory of one of \($0) timers", .memory, size: $0)
    },
    Growth(
      name: "descriptor-memory", title: "Memory of a watched descriptor", axis: "descriptors",
      sizes: [1000, 10000, 100_000]
    ) {
      Workload("mem_fd", "\($0)", "memory of one of \($0) descriptors", .memory, size: $0)
    },
  ]
}

extension Workload {
  static let growing: [Workload] = Growth.all.flatMap(\.workloads)
}
