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

  /// The most that passes. Where threads and real time have no part, a count is the same each time, but for its region's beginning
  /// and the addresses that a hash table finds: 1 %. Elsewhere it is what the same program counted on busy and on quiet machines.
  static func limit(_ count: Target.Count, _ gate: Double, _ sample: Sample, varies: Bool) -> Double {
    switch count {
    case .instructions, .instructionsPerItem: gate * (varies ? 1.05 : 1.01)
    case .moves, .bytes: gate * 1.01
    case .descriptors: gate + 0.02
    case .systemCallsPerWait: gate * (varies ? 1.15 : 1) + 0.05
    case .systemCalls: (varies ? gate * 1.1 + 0.03 : gate) + callsAtFirst / sample.operations
    case .allocations: gate * (varies ? 1.1 : 1) + allocationsAtFirst / sample.operations
    }
  }

  static func holds(_ count: Target.Count, _ gate: Double, _ sample: Sample, varies: Bool) -> Bool {
    sample.value <= limit(count, gate, sample, varies: varies)
  }

  /// Whether a target is reached: half a per cent is allowed, and what a region begins with.
  static func reaches(_ count: Target.Count, _ target: Double, _ sample: Sample) -> Bool {
    let atFirst =
      switch count {
      case .systemCalls: callsAtFirst / sample.operations
      case .allocations: allocationsAtFirst / sample.operations
      case .descriptors: 0.02
      default: 0.0
      }
    return sample.value <= target * 1.005 + atFirst
  }

  /// What was measured, rounded up to three digits, or the target if that is less and reached. Where chance has a part in calls and
  /// allocations, a target that is reached.
  static func recorded(_ count: Target.Count, target: Double?, _ sample: Sample, varies: Bool) -> Double {
    let measured = roundedUp(sample.value)
    // A target may be reached by half a per cent that a gate of calls does not let pass.
    guard let target, reaches(count, target, sample), holds(count, target, sample, varies: varies) else {
      return measured
    }
    let isExact = !varies || count == .instructions || count == .instructionsPerItem
    return isExact ? min(target, measured) : target
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
