import CMeasure
import FoundationEssentials
import Glibc
import Measuring

/// Charts as SVG: horizontal bars on a logarithmic scale, one picture per workload and one of all.
enum Plots {
  static func write(_ summary: Summary, to folder: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      for workload in summary.workloads {
        try save(BarChart(workload, summary).svg, "\(folder)/\(workload.fileName).svg")
      }
      try save(OverviewChart(summary).svg, "\(folder)/overview.svg")
    } catch {
      throw Failure("--plot: cannot write to \(folder): \(error)")
    }
  }

  /// And as PNG, if the program that converts is installed.
  private static func save(_ svg: String, _ path: String) throws {
    try Data(svg.utf8).write(to: URL(filePath: path))
    let picture = path.dropLast(4) + ".png"
    _ = Child.run(["rsvg-convert", "--zoom=2", "--output=\(picture)", path], timeout: 20)
  }

  static let ours = "#1f6feb"
  static let floor = "#8b949e"
  static let peer = "#c9d1d9"
  static let ink = "#1f2328"
  static let paleInk = "#656d76"

  static func color(_ subject: Subject) -> String {
    subject.isPeer ? peer : subject.name == Subject.floor ? floor : ours
  }

  static func document(_ width: Int, _ height: Int, _ body: [String]) -> String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" viewBox="0 0 \(width) \(height)" \
    font-family="Inter, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif">
    <rect width="100%" height="100%" fill="#ffffff"/>
    \(body.joined(separator: "\n"))
    </svg>

    """
  }

  static func text(
    _ x: Double, _ y: Double, _ text: String, size: Int, color: String = ink, anchor: String = "start",
    bold: Bool = false
  ) -> String {
    let weight = bold ? " font-weight=\"600\"" : ""
    let safe = text.split(separator: "&", omittingEmptySubsequences: false).joined(separator: "&amp;")
    return "<text x=\"\(Figure.rounded(x, 1))\" y=\"\(Figure.rounded(y, 1))\" font-size=\"\(size)\" fill=\"\(color)\""
      + " text-anchor=\"\(anchor)\"\(weight)>\(safe)</text>"
  }

  static func bar(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ color: String) -> String {
    "<rect x=\"\(Figure.rounded(x, 1))\" y=\"\(Figure.rounded(y, 1))\" width=\"\(Figure.rounded(max(width, 2), 1))\""
      + " height=\"\(Figure.rounded(height, 1))\" rx=\"3\" fill=\"\(color)\"/>"
  }
}

/// From a value to a place, in powers of ten.
struct LogScale {
  private let low: Double
  private let high: Double
  private let length: Double

  init(_ values: [Double], length: Double) {
    let positive = values.filter { $0 > 0 }
    low = Glibc.floor(log10(positive.min() ?? 1))
    high = Swift.max(ceil(log10(positive.max() ?? 10)), low + 1)
    self.length = length
  }

  func place(_ value: Double) -> Double { value <= 0 ? 0 : (log10(value) - low) / (high - low) * length }
  var powers: [Double] { Array(stride(from: low, through: high, by: 1)).map { pow(10, $0) } }
}

/// One workload: a bar per subject.
struct BarChart {
  let svg: String

  init(_ workload: Workload, _ summary: Summary) {
    let cells = summary.subjects.compactMap { summary.cell(workload, $0.name) }.sorted { $0.value < $1.value }
    let (left, width, rowHeight, top) = (120.0, 640.0, 34.0, 96.0)
    let bottom = top + Double(cells.count) * rowHeight
    let scale = LogScale(cells.map(\.value), length: width - left - 110)
    let isMemory = workload.metric == .memory
    let figure: (Double) -> String = { isMemory ? Figure.plain($0) + " B" : Figure.time($0) }
    var body = [
      Plots.text(24, 36, workload.label, size: 20, bold: true),
      Plots.text(24, 60, workload.what, size: 13, color: Plots.paleInk),
    ]
    for power in scale.powers {
      let x = left + scale.place(power)
      body.append("<path d=\"M\(x) \(top - 10)V\(bottom)\" stroke=\"#eaeef2\"/>")
      body.append(
        Plots.text(x, bottom + 18, Self.short(figure(power)), size: 11, color: Plots.paleInk, anchor: "middle"))
    }
    for (index, cell) in cells.enumerated() {
      let y = top + Double(index) * rowHeight
      let isOurs = Subject.ours.contains(cell.subject.name)
      let end = left + scale.place(cell.value)
      body.append(Plots.text(left - 12, y + 18, cell.subject.name, size: 14, anchor: "end", bold: isOurs))
      body.append(Plots.bar(left, y, end - left, 24, Plots.color(cell.subject)))
      body.append(Plots.text(Swift.max(end, left + 2) + 8, y + 17, figure(cell.value), size: 13, bold: isOurs))
    }
    let note = "shorter is better, logarithmic; median of \(summary.rounds) rounds; \(Self.unit(workload.metric))"
    body.append(Plots.text(24, bottom + 44, note, size: 11, color: Plots.paleInk))
    svg = Plots.document(Int(width) + 24, Int(bottom) + 60, body)
  }

  /// "10.0us" as "10us", for an axis.
  private static func short(_ figure: String) -> String {
    guard let point = figure.firstIndex(of: ".") else { return figure }
    return String(figure[..<point] + figure[point...].drop { $0 == "." || $0.isNumber })
  }

  private static func unit(_ metric: Workload.Metric) -> String {
    switch metric {
    case .perOperation: "time per operation"
    case .latency: "half of all take less"
    case .drift: "how late the last date is"
    case .processor: "processor time per operation"
    case .memory: "bytes of malloc per item"
    case .moves: "heap moves per operation"
    }
  }
}

/// All workloads: how many times as much as the floor takes, a point per subject.
struct OverviewChart {
  let svg: String

  init(_ summary: Summary) {
    let workloads = summary.workloads.filter { workload in
      workload.metric != .drift
        && summary.cells.contains { $0.workload.label == workload.label && $0.ratioToFloor != nil }
    }
    let (left, width, rowHeight, top) = (190.0, 900.0, 30.0, 116.0)
    let bottom = top + Double(workloads.count) * rowHeight
    let ratios = summary.cells.filter { $0.workload.metric != .drift }.compactMap(\.ratioToFloor)
    let scale = LogScale(ratios, length: width - left - 40)
    var body = [
      Plots.text(24, 36, "How many times the floor", size: 20, bold: true),
      Plots.text(
        24, 60, "1 is hand-written C with the fewest system calls; further left is better, logarithmic", size: 13,
        color: Plots.paleInk),
    ]
    body += Self.legend(summary)
    for power in scale.powers {
      let x = left + scale.place(power)
      let color = power == 1 ? "#8b949e" : "#eaeef2"
      body.append("<path d=\"M\(Figure.rounded(x, 1)) \(top - 12)V\(bottom)\" stroke=\"\(color)\"/>")
      let label = power < 1 ? "\(power)x" : "\(Int(power))x"
      body.append(Plots.text(x, bottom + 18, label, size: 11, color: Plots.paleInk, anchor: "middle"))
    }
    for (index, workload) in workloads.enumerated() {
      let y = top + (Double(index) + 0.4) * rowHeight
      body.append(Plots.text(left - 14, y + 5, workload.label, size: 13, anchor: "end"))
      for subject in summary.subjects.reversed() where subject.name != Subject.floor {
        guard let ratio = summary.cell(workload, subject.name)?.ratioToFloor else { continue }
        body.append(Self.point(left + scale.place(ratio), y, subject))
      }
    }
    let note = "\(String(cString: bench_machine())); medians of \(summary.rounds) interleaved rounds"
    body.append(Plots.text(24, bottom + 46, note, size: 11, color: Plots.paleInk))
    svg = Plots.document(Int(width), Int(bottom) + 62, body)
  }

  private static let palette = [
    "core": "#0b3d91", "overlay": "#1f6feb", "cf": "#cf222e", "dispatch": "#bf8700", "libuv": "#8250df",
    "libev": "#1a7f37", "libevent": "#57ab5a", "glib": "#fb8f44", "sd-event": "#6e7781",
  ]

  private static func point(_ x: Double, _ y: Double, _ subject: Subject) -> String {
    let color = palette[subject.name] ?? "#000000"
    let place = "cx=\"\(Figure.rounded(x, 1))\" cy=\"\(Figure.rounded(y, 1))\""
    return Subject.ours.contains(subject.name)
      ? "<circle \(place) r=\"7\" fill=\"\(color)\"/>"
      : "<circle \(place) r=\"4.5\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"2\"/>"
  }

  private static func legend(_ summary: Summary) -> [String] {
    var x = 32.0
    return summary.subjects.filter { $0.name != Subject.floor }.flatMap { subject in
      defer { x += Double(subject.name.count) * 8 + 34 }
      return [point(x, 82, subject), Plots.text(x + 11, 87, subject.name, size: 13)]
    }
  }
}
