import CMeasure

/// The figures as text, 100 columns wide: a line per workload, a column per subject.
struct Table {
  private static let labelWidth = 27
  /// The longest figure, and a space.
  private static let columnWidth = 7

  let text: String

  init(_ summary: Summary) {
    let timed = summary.workloads.filter { $0.metric != .memory }
    let latencies = summary.workloads.filter { $0.metric == .latency }
    let memory = summary.workloads.filter { $0.metric == .memory }
    let hasCalls = summary.cells.contains { $0.counts.systemCalls != nil }
    let hasInstructions = summary.cells.contains { $0.counts.instructions != nil }
    var parts = [
      "\(String(cString: bench_machine()))\nMedians of \(summary.rounds) interleaved rounds.\n",
      Self.part("Time per operation (p50 of latencies)", timed, summary) { Figure.time($0.value) },
      Self.part("Latency, p99", latencies, summary) { $0.p99.map(Figure.time) },
      Self.part("Latency, the worst", latencies, summary) { $0.max.map(Figure.time) },
      Self.part("Ratio to the floor", timed, summary) { $0.ratioToFloor.map(Figure.plain) },
      Self.part("Ratio to the best peer", timed, summary) { $0.ratioToBestPeer.map(Figure.plain) },
    ]
    if hasCalls {
      parts.append(Self.part("System calls per operation", timed, summary) { $0.counts.systemCalls.map(Figure.count) })
    }
    if hasInstructions {
      parts.append(Self.part("Instructions per operation", timed, summary) { $0.counts.instructions.map(Figure.plain) })
    }
    parts.append(Self.part("Memory per item, bytes of malloc", memory, summary) { Figure.plain($0.value) })
    parts.append(Self.part("Memory per item, resident bytes", memory, summary) { $0.rss.map(Figure.plain) })
    parts.append(Self.part("Descriptors per item", memory, summary) { $0.descriptors.map(Figure.count) })
    text = parts.filter { !$0.isEmpty }.joined(separator: "\n")
  }

  private static func part(
    _ title: String, _ workloads: [Workload], _ summary: Summary, _ figure: (Summary.Cell) -> String?
  ) -> String {
    var lines: [String] = []
    for workload in workloads {
      let figures = summary.subjects.map { subject in summary.cell(workload, subject.name).flatMap(figure) ?? "" }
      if figures.contains(where: { !$0.isEmpty }) { lines.append(row(workload.label, figures, summary)) }
    }
    guard !lines.isEmpty else { return "" }
    let header = row("", summary.subjects.map(\.name), summary)
    return "\(title)\n\(header)\n" + lines.map { $0 + "\n" }.joined()
  }

  private static func row(_ label: String, _ columns: [String], _ summary: Summary) -> String {
    let widths = summary.subjects.map { max(columnWidth, $0.name.count + 1) }
    let line = label.padded(to: labelWidth) + zip(columns, widths).map { $0.aligned(to: $1) }.joined()
    return String(line.reversed().drop { $0 == " " }.reversed())
  }
}

/// Three digits that count.
enum Figure {
  static func time(_ ns: Double) -> String {
    if ns < 1000 { return plain(ns) + "ns" }
    if ns < 1_000_000 { return plain(ns / 1000) + "us" }
    return plain(ns / 1_000_000) + "ms"
  }

  static func plain(_ value: Double) -> String {
    if value >= 1_000_000 { return rounded(value / 1_000_000, value >= 1e8 ? 0 : 1) + "M" }
    if value >= 100_000 { return rounded(value / 1000, 0) + "k" }
    return rounded(value, value >= 100 ? 0 : value >= 10 ? 1 : 2)
  }

  static func count(_ value: Double) -> String {
    let text = rounded(value, 3)
    return text.hasSuffix(".000") ? String(text.dropLast(4)) : text
  }

  static func rounded(_ value: Double, _ digits: Int) -> String {
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    let whole = Int64((abs(value) * scale).rounded())
    let sign = value < 0 && whole > 0 ? "-" : ""
    guard digits > 0 else { return "\(sign)\(whole)" }
    let fraction = "\(whole % Int64(scale))"
    let zeros = String(repeating: "0", count: digits - fraction.count)
    return "\(sign)\(whole / Int64(scale)).\(zeros)\(fraction)"
  }
}
