import RunLoopKit

extension Demo {
  /// One story: it runs something, prints what happens, and answers with what it claims and what was seen.
  protocol Story {
    var name: String { get }
    var title: String { get }
    func tell(on stage: Stage) throws -> Outcome
  }

  struct Check {
    let claim: String
    let holds: Bool
    let seen: String
  }

  struct Outcome {
    private(set) var checks: [Check] = []
    /// One measured figure for the closing table.
    var figure = ""

    var cameOutAsTold: Bool { !checks.isEmpty && checks.allSatisfy(\.holds) }

    mutating func expect(_ claim: String, _ holds: Bool, seen: String) {
      checks.append(Check(claim: claim, holds: holds, seen: seen))
    }

    mutating func expect<Value: Equatable>(_ claim: String, _ wanted: Value, seen: Value?) {
      expect(claim, wanted, seen: seen) { "\($0)" }
    }

    /// The last argument says how a value is written.
    mutating func expect<Value: Equatable>(
      _ claim: String, _ wanted: Value, seen: Value?, as text: (Value) -> String
    ) {
      let found = seen.map(text) ?? "none"
      expect(claim, seen == wanted, seen: seen == wanted ? found : "\(found) instead of \(text(wanted))")
    }
  }

  /// No run of a story needs this long; it bounds a run that would otherwise wait for ever.
  static let patience: Duration = .seconds(30)
}

// MARK: - Numbers in words

extension Demo {
  static func described(_ duration: Duration) -> String {
    let nanoseconds = Demo.nanoseconds(duration)
    switch nanoseconds {
    case ..<1e4: return "\(decimal(nanoseconds / 1e3, places: 1)) µs"
    case ..<1e6: return "\(decimal(nanoseconds / 1e3, places: 0)) µs"
    case ..<1e9: return "\(decimal(nanoseconds / 1e6, places: nanoseconds < 1e7 ? 1 : 0)) ms"
    default: return "\(decimal(nanoseconds / 1e9, places: 1)) s"
    }
  }

  static func nanoseconds(_ duration: Duration) -> Double {
    let (seconds, attoseconds) = duration.components
    return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
  }

  /// How many per second, as a round number.
  static func rate(_ count: Int, in duration: Duration) -> String {
    let perSecond = Double(count) / max(nanoseconds(duration), 1) * 1e9
    guard perSecond >= 1000 else { return grouped(Int(perSecond.rounded())) }
    return grouped(Int((perSecond / 100).rounded()) * 100)
  }

  static func decimal(_ value: Double, places: Int) -> String {
    let scale = (0..<places).reduce(1) { product, _ in product * 10 }
    let scaled = Int((value * Double(scale)).rounded())
    guard places > 0 else { return grouped(scaled) }
    let fraction = String(scaled % scale)
    return "\(grouped(scaled / scale)).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
  }

  static func grouped(_ number: Int) -> String {
    var digits = String(number)
    var groups: [String] = []
    while digits.count > 3 {
      groups.insert(String(digits.suffix(3)), at: 0)
      digits.removeLast(3)
    }
    return ([digits] + groups).joined(separator: ",")
  }

  static func median(_ samples: [Duration]) -> Duration {
    samples.isEmpty ? .zero : samples.sorted()[samples.count / 2]
  }

  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
