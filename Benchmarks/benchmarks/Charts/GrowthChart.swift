/// How a cost grows: a line per subject over the sizes of a workload, the costs logarithmic.
struct GrowthChart {
  let svg: String

  private struct Curve {
    let subject: Subject
    let points: [(x: Double, y: Double)]
  }

  /// Nil if nothing of it was measured.
  init?(_ growth: Growth, _ summary: Summary) {
    let (left, right, top, bottom) = (84.0, 700.0, 112.0, 560.0)
    let (width, height) = (900.0, 640.0)
    let measured = growth.sizes.filter { size in
      summary.workloads.contains { $0.label == growth.workload(size).label }
    }
    guard let first = measured.first else { return nil }
    func value(_ size: Int64, _ subject: Subject) -> Double? {
      summary.cell(growth.workload(size), subject.name)?.value
    }
    let all = measured.flatMap { size in summary.subjects.compactMap { value(size, $0) } }
    let scale = Scale(powersOfTenAround: all, length: bottom - top)
    func place(_ index: Int) -> Double {
      measured.count == 1 ? left : left + Double(index) / Double(measured.count - 1) * (right - left)
    }
    let workload = growth.workload(first)
    var body = [
      Drawing.text(28, 44, growth.title, size: 22, bold: true),
      Drawing.text(28, 70, "\(workload.name): \(workload.unit); lower is better", size: 14, color: Drawing.paleInk),
    ]
    for tick in scale.ticks {
      let y = bottom - scale.place(tick)
      body.append(Drawing.line([(left, y), (right, y)], Drawing.grid))
      body.append(Drawing.text(left - 10, y + 4, workload.tick(tick), size: 12, color: Drawing.paleInk, anchor: "end"))
    }
    for (index, size) in measured.enumerated() {
      body.append(
        Drawing.text(
          place(index), bottom + 22, Figure.thousands(size), size: 12, color: Drawing.paleInk, anchor: "middle"))
    }
    body.append(Drawing.text((left + right) / 2, bottom + 46, growth.axis, size: 14, anchor: "middle"))
    let curves = summary.subjects.compactMap { subject -> Curve? in
      let points = measured.enumerated().compactMap { index, size in
        value(size, subject).map { (x: place(index), y: bottom - scale.place($0)) }
      }
      return points.isEmpty ? nil : Curve(subject: subject, points: points)
    }
    for curve in curves.sorted(by: { !$0.subject.isOurs && $1.subject.isOurs }) { body += Self.draw(curve) }
    body += Self.names(curves, right: right, bottom: bottom)
    body.append(
      Drawing.text(
        28, height - 16, "Medians of \(summary.rounds) interleaved rounds; the vertical axis is logarithmic.", size: 12,
        color: Drawing.paleInk))
    svg = Drawing.document(width, height, body)
  }

  private static func draw(_ curve: Curve) -> [String] {
    let (color, isOurs) = (curve.subject.color, curve.subject.isOurs)
    let dots = curve.points.map {
      Drawing.dot($0.x, $0.y, isOurs ? 5 : 3, fill: isOurs ? color : "#ffffff", stroke: color)
    }
    return [Drawing.line(curve.points, color, width: isOurs ? 3.5 : 1.8)] + dots
  }

  /// Beside the ends of the lines, moved apart where they would cover each other.
  private static func names(_ curves: [Curve], right: Double, bottom: Double) -> [String] {
    let spacing = 19.0
    var places: [Double] = []
    let sorted = curves.sorted { $0.points.last!.y < $1.points.last!.y }
    for curve in sorted { places.append(max(curve.points.last!.y, (places.last ?? -spacing) + spacing)) }
    let excess = max((places.last ?? 0) - bottom - 10, 0)
    var below = Double.infinity
    for index in places.indices.reversed() {
      places[index] = min(places[index] - (index == places.count - 1 ? excess : 0), below - spacing)
      below = places[index]
    }
    return zip(sorted, places).flatMap { curve, y in
      let end = curve.points.last!
      return [
        Drawing.line([(end.x + 8, end.y), (right + 26, y)], "#c4ccd4", width: 0.8),
        Drawing.text(
          right + 30, y + 5, curve.subject.displayName, size: 14, color: curve.subject.color, bold: curve.subject.isOurs
        ),
      ]
    }
  }
}
