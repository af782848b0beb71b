/// Whether a count is within its gate, and what the gate becomes when it is written anew.
enum Gate {
  /// What was counted for a target, and over how many operations.
  struct Sample: Equatable {
    let value: Double
    let operations: Double
  }

  /// What a region begins with is no operation's: a few calls and allocations are not held against it.
  private static let callsAtFirst = 8.0
  private static let allocationsAtFirst = 24.0

  static func limit(_ count: Target.Count, _ gate: Double, _ sample: Sample, varies: Bool) -> Double {
    switch count {
    case .instructions, .instructionsPerItem, .moves: gate * 1.1
    case .bytes: gate * 1.02
    case .descriptors: gate + 0.02
    case .systemCallsPerWait: gate * (varies ? 1.15 : 1) + 0.05
    case .systemCalls: gate * (varies ? 1.1 : 1) + callsAtFirst / sample.operations
    case .allocations: gate * (varies ? 1.1 : 1) + allocationsAtFirst / sample.operations
    }
  }

  static func holds(_ count: Target.Count, _ gate: Double, _ sample: Sample, varies: Bool) -> Bool {
    sample.value <= limit(count, gate, sample, varies: varies)
  }

  /// Whether a target is reached, for which nothing is allowed but what a region begins with and chance.
  static func reaches(_ count: Target.Count, _ target: Double, _ sample: Sample, varies: Bool) -> Bool {
    switch count {
    case .instructions, .instructionsPerItem, .moves, .bytes: sample.value <= target * 1.005
    default: holds(count, target, sample, varies: varies)
    }
  }

  /// The target where it is reached, otherwise what was measured, rounded up to three digits.
  static func recorded(_ count: Target.Count, target: Double?, _ sample: Sample, varies: Bool) -> Double {
    if let target, reaches(count, target, sample, varies: varies) { return target }
    return roundedUp(sample.value)
  }

  static func roundedUp(_ value: Double) -> Double {
    guard value > 0 else { return 0 }
    var scale = 1.0
    while value * scale < 100 { scale *= 10 }
    while value * scale >= 1000 { scale /= 10 }
    let digits = (value * scale - 1e-9).rounded(.up)
    return scale >= 1 ? digits / scale : digits * (1 / scale)
  }
}
