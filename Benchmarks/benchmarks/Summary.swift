/// What the rounds amount to: medians, and ratios as medians of the rounds' ratios.
struct Summary {
  struct Cell {
    let workload: Workload
    let subject: Subject
    let value: Double
    /// To each subject of the workload, by name.
    let ratios: [String: Double]
    let ratioToBestPeer: Double?
    let counts: PerOperation
    let p99: Double?
    let max: Double?
    let rss: Double?
    let descriptors: Double?
    let rounds: Int

    var ratioToFloor: Double? { ratios[Subject.floor] }
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
    var labels: Set<String> = []
    workloads = cells.map(\.workload).filter { labels.insert($0.label).inserted }
    subjects = Subject.all.filter { subject in cells.contains { $0.subject.name == subject.name } }
    rounds = cells.map(\.rounds).max() ?? 0
  }

  func cell(_ workload: Workload, _ subject: String) -> Cell? {
    cells.first { $0.workload.label == workload.label && $0.subject.name == subject }
  }

  private static func cell(_ series: Series, _ rivals: [Series]) -> Cell? {
    guard let value = Series.median(series.values) else { return nil }
    let peers = rivals.filter(\.subject.isPeer)
    var ratios: [String: Double] = [:]
    for rival in rivals { ratios[rival.subject.name] = ratio(series) { rival.value(in: $0) } }
    return Cell(
      workload: series.workload, subject: series.subject, value: value, ratios: ratios,
      ratioToBestPeer: ratio(series) { round in peers.compactMap { $0.value(in: round) }.min() },
      counts: series.counts, p99: series.median(of: "p99_ns"), max: series.median(of: "max_ns"),
      rss: series.median(of: "rss_per_item"), descriptors: series.median(of: "descriptors_per_item"),
      rounds: series.rounds.count)
  }

  /// The median of the rounds' ratios to what stands in the same round.
  static func ratio(_ series: Series, to base: (Int) -> Double?) -> Double? {
    let ratios = series.rounds.keys.compactMap { round -> Double? in
      guard let value = series.value(in: round), let base = base(round), base > 0 else { return nil }
      return value / base
    }
    return Series.median(ratios)
  }
}
