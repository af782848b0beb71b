/// One workload: a bar per subject, the shortest first.
struct BarChart {
  let svg: String

  init(_ workload: Workload, _ summary: Summary) {
    let cells = summary.subjects.compactMap { summary.cell(workload, $0.name) }.sorted { $0.value < $1.value }
    let (left, width, rowHeight, top) = (200.0, 880.0, 36.0, 104.0)
    let right = width - 190
    let bottom = top + Double(cells.count) * rowHeight
    let scale = Self.scale(cells.map(\.value), length: right - left)
    var body = [
      Drawing.text(28, 40, workload.what.capitalizedFirst, size: 21, bold: true),
      Drawing.text(28, 66, "\(workload.label): \(workload.unit)", size: 14, color: Drawing.paleInk),
    ]
    for tick in scale.ticks {
      let x = left + scale.place(tick)
      body.append(Drawing.line([(x, top - 8), (x, bottom)], Drawing.grid))
      body.append(
        Drawing.text(x, bottom + 20, workload.tick(tick), size: 12, color: Drawing.paleInk, anchor: "middle"))
    }
    let hasRatios = workload.metric != .drift && cells.contains { $0.ratioToFloor != nil }
    if hasRatios {
      body.append(
        Drawing.text(width - 28, top - 14, "x the floor", size: 12, color: Drawing.paleInk, anchor: "end"))
    }
    for (index, cell) in cells.enumerated() {
      let y = top + Double(index) * rowHeight
      let (subject, end) = (cell.subject, left + scale.place(cell.value))
      body.append(Drawing.text(left - 12, y + 19, subject.displayName, size: 14, anchor: "end", bold: subject.isOurs))
      body.append(Drawing.box(left, y, end - left, 27, subject.barColor))
      body.append(Drawing.text(end + 9, y + 19, workload.figure(cell.value), size: 14, bold: subject.isOurs))
      if hasRatios, let ratio = cell.ratioToFloor {
        let text = Figure.plain(ratio)
        body.append(
          Drawing.text(width - 28, y + 19, text, size: 13, color: Drawing.paleInk, anchor: "end", bold: subject.isOurs))
      }
    }
    let axis = scale.isLogarithmic ? "Shorter is better; the axis is logarithmic." : "Shorter is better."
    body.append(
      Drawing.text(
        28, bottom + 50, "\(axis) Medians of \(summary.rounds) interleaved rounds.", size: 12, color: Drawing.paleInk))
    svg = Drawing.document(width, bottom + 70, body)
  }

  /// Bars tell the truth from zero; where the longest would hide all others, powers of ten.
  private static func scale(_ values: [Double], length: Double) -> Scale {
    let (least, most) = (values.filter { $0 > 0 }.min() ?? 1, values.max() ?? 1)
    return most <= 25 * least
      ? Scale(fromZeroTo: most, length: length) : Scale(powersOfTenAround: values, length: length)
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
