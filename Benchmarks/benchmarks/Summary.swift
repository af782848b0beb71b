/// What the rounds amount to: medians, and ratios as medians of the rounds' ratios.
struct Summary {
  struct Cell {
    let workload: Workload
    let subject: Subject
    let value: Double
    let ratioToFloor: Double?
    let ratioToBestPeer: Double?
    let systemCalls: Double?
    let instructions: Double?
    let p99: Double?
    let max: Double?
    let rss: Double?
    let descriptors: Double?
    let rounds: Int
  }

  let cells: [Cell]
  let workloads: [Workload]
  let subjects: [Subject]
  let rounds: Int

  init(_ series: [Series]) {
    var cells: [Cell] = []
    for each in series {
      let rivals = series.filter { $0.workload.label == each.workload.label }
      if let cell = Self.cell(each, rivals) { cells.append(cell) }
    }
    self.cells = cells
    workloads = Workload.all.filter { workload in cells.contains { $0.workload.label == workload.label } }
    subjects = Subject.all.filter { subject in cells.contains { $0.subject.name == subject.name } }
    rounds = cells.map(\.rounds).max() ?? 0
  }

  func cell(_ workload: Workload, _ subject: Subject) -> Cell? {
    cells.first { $0.workload.label == workload.label && $0.subject.name == subject.name }
  }

  private static func cell(_ series: Series, _ rivals: [Series]) -> Cell? {
    guard let value = Benchmark.median(series.values) else { return nil }
    let floor = rivals.first { $0.subject.name == Subject.floor }
    let peers = rivals.filter { $0.subject.isPeer }
    return Cell(
      workload: series.workload, subject: series.subject, value: value,
      ratioToFloor: ratio(series) { floor?.value(in: $0) },
      ratioToBestPeer: ratio(series) { round in peers.compactMap { $0.value(in: round) }.min() },
      systemCalls: series.systemCalls, instructions: series.instructions, p99: series.median(of: "p99_ns"),
      max: series.median(of: "max_ns"), rss: series.median(of: "rss_per_item"),
      descriptors: series.median(of: "descriptors_per_item"), rounds: series.rounds.count)
  }

  /// The median of the rounds' ratios to what stands in the same round.
  private static func ratio(_ series: Series, to base: (Int) -> Double?) -> Double? {
    let ratios = series.rounds.keys.compactMap { round -> Double? in
      guard let value = series.value(in: round), let base = base(round), base > 0 else { return nil }
      return value / base
    }
    return Benchmark.median(ratios)
  }
}
