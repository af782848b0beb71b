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
      sizes: [1, 2, 4, 8]
    ) {
      Workload("mode_addrm", "\($0)", "add a counter to \($0) modes and remove it", count: 20000, size: $0)
    },
    Growth(
      name: "observers", title: "A pass that calls observers", axis: "observers", sizes: [0, 1, 3, 10, 30, 100]
    ) {
      Workload("iter", "\($0)", "a pass that does not wait, with \($0) observers", count: 20000, size: $0)
    },
    Growth(
      name: "threads", title: "Posting to one loop from many threads", axis: "threads that post",
      sizes: [1, 2, 4, 8, 16, 32, 64]
    ) {
      Workload("post", "\($0)", "\($0) threads post to a running loop", count: 128_000, size: $0)
    },
  ]
}

extension Workload {
  static let growing: [Workload] = Growth.all.flatMap(\.workloads)
}
