import CMeasure

/// Runs the rounds: of each workload all subjects in turn, then again.
struct Runner {
  let selection: Selection
  let rounds: Int
  let countsInstructions: Bool
  let meter: Meter
  let progress: Progress

  func measure() -> [Series] {
    for subject in selection.subjects {
      if let absence = subject.absence { progress.note("\(subject.name) is left out: \(absence)") }
    }
    let present = selection.subjects.filter { $0.absence == nil }
    var all: [Series] = []
    let limit = bench_raise_descriptor_limit()
    for (index, workload) in selection.workloads.enumerated() {
      if workload.descriptors > limit {
        progress.note(
          "\(workload.label) is left out: it needs \(workload.descriptors) descriptors, \(limit) are allowed")
        continue
      }
      let subjects = present.filter { $0.divisor(for: workload) != nil }
      all += measure(workload, subjects, "[\(index + 1)/\(selection.workloads.count)] \(workload.label)")
    }
    progress.clear()
    return all
  }

  private func measure(_ workload: Workload, _ subjects: [Subject], _ place: String) -> [Series] {
    var series = subjects.map { Series(workload: workload, subject: $0) }
    // Bytes hardly differ from round to round.
    let isSteady = workload.metric == .memory || workload.metric == .moves
    for round in 0..<(isSteady ? (rounds + 2) / 3 : rounds) {
      for index in series.indices where round == 0 || !series[index].rounds.isEmpty {
        progress.show("\(place): round \(round + 1)/\(rounds), \(series[index].subject.name)")
        series[index].rounds[round] = meter.time(workload, series[index].subject)
      }
    }
    guard !isSteady else { return series }
    for index in series.indices where !series[index].rounds.isEmpty { count(&series[index], place) }
    return series
  }

  private func count(_ series: inout Series, _ place: String) {
    let (workload, subject) = (series.workload, series.subject)
    progress.show("\(place): system calls, \(subject.name)")
    let calls = meter.countSystemCalls(workload, subject)
    series.counts.systemCalls = calls?["syscalls_per_op"]
    series.counts.waits = calls?["waits_per_op"]
    series.counts.operations = calls?["operations"]
    guard countsInstructions else { return }
    progress.show("\(place): instructions, \(subject.name)")
    let counted = meter.countInstructions(workload, subject)
    series.counts.instructions = counted?.instructions
    series.counts.allocations = counted?.allocations
    series.counts.operations = counted?.operations ?? series.counts.operations
  }
}
