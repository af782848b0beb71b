import CMeasure

/// All workloads: how many times as much as the floor takes, a dot per subject.
struct OverviewChart {
  let svg: String

  private static let left = 300.0
  private static let width = 1120.0
  private static let rowHeight = 30.0

  init(_ summary: Summary) {
    let rows = summary.workloads.filter { workload in
      workload.metric != .drift && workload.metric != .moves
        && summary.cells.contains { $0.workload.label == workload.label && $0.subject.isPeer && $0.ratioToFloor != nil }
    }
    let top = 142.0
    let bottom = top + Double(rows.count) * Self.rowHeight
    let ratios = rows.flatMap { workload in
      summary.subjects.compactMap { summary.cell(workload, $0.name)?.ratioToFloor }
    }
    let scale = Scale(powersOfTenAround: ratios, length: Self.width - Self.left - 48)
    var body = [
      Drawing.text(28, 44, "RunLoopKit among event loops", size: 26, bold: true),
      Drawing.text(
        28, 72,
        "How many times as long (or as much memory) as hand-written C with the fewest system calls takes."
          + " Further left is better; logarithmic.", size: 14, color: Drawing.paleInk),
    ]
    body += Self.legend(summary)
    for (index, _) in rows.enumerated() where index.isMultiple(of: 2) {
      body.append(
        Drawing.box(
          20, top + Double(index) * Self.rowHeight, Self.width - 40, Self.rowHeight, "#f6f8fa", round: 4))
    }
    for tick in scale.ticks {
      let x = Self.left + scale.place(tick)
      body.append(
        Drawing.line([(x, top - 8), (x, bottom)], tick == 1 ? "#8b949e" : "#d8dee4", width: tick == 1 ? 2 : 1))
      let label = tick < 1 ? "\(tick)x" : "\(Int(tick))x"
      body.append(Drawing.text(x, bottom + 20, label, size: 12, color: Drawing.paleInk, anchor: "middle"))
    }
    for (index, workload) in rows.enumerated() {
      let y = top + (Double(index) + 0.5) * Self.rowHeight
      body.append(Drawing.text(Self.left - 16, y + 5, workload.label, size: 14, anchor: "end"))
      for subject in summary.subjects.sorted(by: { !$0.isOurs && $1.isOurs }) where subject.name != Subject.floor {
        guard let ratio = summary.cell(workload, subject.name)?.ratioToFloor else { continue }
        body.append(Self.dot(Self.left + scale.place(ratio), y, subject))
      }
    }
    let note = "\(String(cString: bench_machine())); medians of \(summary.rounds) interleaved rounds"
    body.append(Drawing.text(28, bottom + 50, note, size: 12, color: Drawing.paleInk))
    svg = Drawing.document(Self.width, bottom + 70, body)
  }

  private static func dot(_ x: Double, _ y: Double, _ subject: Subject) -> String {
    subject.isOurs
      ? Drawing.dot(x, y, 7.5, fill: subject.color, stroke: "#ffffff")
      : Drawing.dot(x, y, 4.5, fill: "none", stroke: subject.color)
  }

  private static func legend(_ summary: Summary) -> [String] {
    var x = 36.0
    return summary.subjects.filter { $0.name != Subject.floor }.flatMap { subject in
      defer { x += Double(subject.displayName.count) * (subject.isOurs ? 7.6 : 7.2) + 34 }
      return [
        dot(x, 104, subject), Drawing.text(x + 12, 109, subject.displayName, size: 13, bold: subject.isOurs),
      ]
    }
  }
}
