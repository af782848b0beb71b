/// Three digits that count.
enum Figure {
  static func time(_ ns: Double) -> String {
    if ns < 1000 { return plain(ns) + "ns" }
    if ns < 1_000_000 { return plain(ns / 1000) + "us" }
    return plain(ns / 1_000_000) + "ms"
  }

  /// Two digits that count, of a small value.
  static func significant(_ value: Double) -> String {
    var (scaled, digits) = (abs(value), 1)
    while scaled < 1, digits < 9 {
      scaled *= 10
      digits += 1
    }
    return rounded(value, digits)
  }

  /// A difference, with its sign.
  static func signed(_ value: Double, _ text: (Double) -> String) -> String {
    (value < 0 ? "-" : "+") + text(abs(value))
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
