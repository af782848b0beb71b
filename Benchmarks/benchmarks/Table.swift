import CMeasure

/// The figures as text: a line per workload, a column per subject, and one for what the Swift layer adds to the core.
struct Table {
  /// The longest figure, and a space.
  private static let columnWidth = 7

  let text: String

  init(_ summary: Summary) {
    let timed = summary.workloads.filter { $0.metric != .memory && $0.metric != .moves }
    let latencies = summary.workloads.filter { $0.metric == .latency }
    let memory = summary.workloads.filter { $0.metric == .memory }
    let moves = summary.workloads.filter { $0.metric == .moves }
    let time = Column(\.value) { Figure.time($0) }
    let bytes = Column(\.value) { Figure.plain($0) }
    let part = { Self.part($0, $1, summary, $2) }
    let parts = [
      "\(String(cString: bench_machine()))\nMedians of \(summary.rounds) interleaved rounds.\n",
      part("Time per operation (p50 of latencies; processor time of timer_firewin)", timed, time),
      part("Latency, p99", latencies, Column(\.p99) { Figure.time($0) }),
      part("Latency, the worst", latencies, Column(\.max) { Figure.time($0) }),
      part("Ratio to the floor", timed + memory, Column(\.ratioToFloor, isRatio: true) { Figure.plain($0) }),
      part("Ratio to the best peer", timed + memory, Column(\.ratioToBestPeer, isRatio: true) { Figure.plain($0) }),
      part("System calls per operation", timed, Column(\.counts.systemCalls) { Figure.count($0) }),
      part("Of them, calls that can wait", timed, Column(\.counts.waits) { Figure.count($0) }),
      part("Instructions per operation", timed, Column(\.counts.instructions) { Figure.plain($0) }),
      part("Allocations per operation", timed, Column(\.counts.allocations) { Figure.count($0) }),
      part("Heap entries moved per operation", moves, Column(\.value) { Figure.count($0) }),
      part("Memory per item, bytes of malloc", memory, bytes),
      part("Memory per item, resident bytes", memory, Column(\.rss) { Figure.plain($0) }),
      part("Descriptors per item", memory, Column(\.descriptors) { Figure.count($0) }),
    ]
    text = parts.filter { !$0.isEmpty }.joined(separator: "\n")
  }

  /// Which figure, and how it is written.
  private struct Column {
    let value: (Summary.Cell) -> Double?
    let isRatio: Bool
    let text: (Double) -> String

    init(_ value: @escaping (Summary.Cell) -> Double?, isRatio: Bool = false, text: @escaping (Double) -> String) {
      self.value = value
      self.isRatio = isRatio
      self.text = text
    }
  }

  private static func part(_ title: String, _ workloads: [Workload], _ summary: Summary, _ column: Column) -> String {
    var lines: [(label: String, figures: [String])] = []
    for workload in workloads {
      let figures = summary.subjects.map {
        summary.cell(workload, $0.name).flatMap(column.value).map(column.text) ?? ""
      }
      if figures.contains(where: { !$0.isEmpty }) {
        lines.append((workload.label, figures + [overlayOverCore(workload, summary, column)]))
      }
    }
    guard !lines.isEmpty else { return "" }
    let hasDifference = lines.contains { !$0.figures.last!.isEmpty }
    let last = hasDifference ? [column.isRatio ? "overlay/core" : "overlay-core"] : []
    let names = summary.subjects.map(\.name) + last
    let labelWidth = (lines.map(\.label.count).max() ?? 0) + 1
    let widths = names.map { max(columnWidth, $0.count + 1) }
    let rows = [("", names)] + lines.map { ($0.label, $0.figures) }
    return "\(title)\n" + rows.map { row($0.0, $0.1, labelWidth, widths) + "\n" }.joined()
  }

  /// What the Swift layer costs: overlay minus core; in a table of ratios, overlay over core.
  private static func overlayOverCore(_ workload: Workload, _ summary: Summary, _ column: Column) -> String {
    guard let overlay = summary.cell(workload, Subject.overlay), let core = summary.cell(workload, Subject.core),
      let with = column.value(overlay), let without = column.value(core)
    else { return "" }
    if column.isRatio { return overlay.ratios[Subject.core].map(Figure.plain) ?? "" }
    return Figure.signed(with - without, column.text)
  }

  private static func row(_ label: String, _ columns: [String], _ labelWidth: Int, _ widths: [Int]) -> String {
    let line = label.padded(to: labelWidth) + zip(columns, widths).map { $0.aligned(to: $1) }.joined()
    return String(line.reversed().drop { $0 == " " }.reversed())
  }
}
