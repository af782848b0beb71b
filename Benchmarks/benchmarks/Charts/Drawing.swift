import Glibc

/// Pieces of SVG.
enum Drawing {
  static let ink = "#1f2328"
  static let paleInk = "#656d76"
  static let grid = "#eaeef2"

  static func document(_ width: Double, _ height: Double, _ body: [String]) -> String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" width="\(Int(width))" height="\(Int(height))" \
    viewBox="0 0 \(Int(width)) \(Int(height))" \
    font-family="Inter, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif">
    <rect width="100%" height="100%" fill="#ffffff"/>
    \(body.joined(separator: "\n"))
    </svg>

    """
  }

  static func text(
    _ x: Double, _ y: Double, _ text: String, size: Int = 13, color: String = ink, anchor: String = "start",
    bold: Bool = false
  ) -> String {
    let weight = bold ? " font-weight=\"600\"" : ""
    let safe = text.split(separator: "&", omittingEmptySubsequences: false).joined(separator: "&amp;")
    return "<text x=\"\(number(x))\" y=\"\(number(y))\" font-size=\"\(size)\" fill=\"\(color)\""
      + " text-anchor=\"\(anchor)\"\(weight)>\(safe)</text>"
  }

  static func box(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ color: String, round: Int = 3)
    -> String
  {
    "<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(max(width, 2)))\" height=\"\(number(height))\""
      + " rx=\"\(round)\" fill=\"\(color)\"/>"
  }

  static func line(_ points: [(x: Double, y: Double)], _ color: String, width: Double = 1) -> String {
    let path = points.map { "\(number($0.x)) \(number($0.y))" }.joined(separator: "L")
    return "<path d=\"M\(path)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"\(number(width))\""
      + " stroke-linejoin=\"round\"/>"
  }

  static func dot(_ x: Double, _ y: Double, _ radius: Double, fill: String, stroke: String) -> String {
    "<circle cx=\"\(number(x))\" cy=\"\(number(y))\" r=\"\(number(radius))\" fill=\"\(fill)\" stroke=\"\(stroke)\""
      + " stroke-width=\"2\"/>"
  }

  private static func number(_ value: Double) -> String { Figure.rounded(value, 1) }
}

/// From a value to a place along an axis.
struct Scale {
  let isLogarithmic: Bool
  let ticks: [Double]
  private let low: Double
  private let high: Double
  private let length: Double

  /// Logarithmic, from power of ten to power of ten.
  init(powersOfTenAround values: [Double], length: Double) {
    let positive = values.filter { $0 > 0 }
    let first = Glibc.floor(log10(positive.min() ?? 1))
    let last = Swift.max(ceil(log10(positive.max() ?? 10)), first + 1)
    isLogarithmic = true
    (low, high) = (first, last)
    self.length = length
    ticks = stride(from: first, through: last, by: 1).map { pow(10, $0) }
  }

  /// From zero, in steps of 1, 2 or 5.
  init(fromZeroTo most: Double, length: Double) {
    let rough = Swift.max(most, 1e-9) / 5
    let power = pow(10, Glibc.floor(log10(rough)))
    let step = [1.0, 2, 5, 10].map { $0 * power }.first { $0 >= rough } ?? power * 10
    isLogarithmic = false
    (low, high) = (0, most)
    self.length = length
    ticks = stride(from: 0, through: most, by: step).map { $0 }
  }

  func place(_ value: Double) -> Double {
    if isLogarithmic { return value <= 0 ? 0 : (log10(value) - low) / (high - low) * length }
    return value / high * length
  }
}
