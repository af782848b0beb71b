import Measuring

/// What was counted in runs of their own, per operation.
struct PerOperation: Sendable {
  var systemCalls: Double?
  /// Those of the system calls that can wait for events.
  var waits: Double?
  var instructions: Double?
  var allocations: Double?
  /// Over how many they were counted: the fewest.
  var operations: Double?
}

/// Everything that was measured about one workload and one subject.
struct Series: Sendable {
  let workload: Workload
  let subject: Subject
  /// One per round; a round in which it failed has none.
  var rounds: [Int: Measurement] = [:]
  var counts = PerOperation()

  func value(in round: Int) -> Double? { rounds[round]?[workload.metric.rawValue] }
  var values: [Double] { rounds.keys.sorted().compactMap { value(in: $0) } }
  func median(of figure: String) -> Double? { Series.median(rounds.values.compactMap { $0[figure] }) }

  static func median(_ values: [Double]) -> Double? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}
