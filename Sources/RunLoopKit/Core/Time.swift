internal import CRunLoopCore

/// Arithmetic on absolute nanoseconds that saturates; `forever` means never.
package enum Time {
  package static let forever = UInt64.max

  static func add(_ time: UInt64, _ delta: UInt64) -> UInt64 { rlc_time_add(time, delta) }

  /// The first `phase + n * interval` (n >= 1) after `now`, in closed form.
  static func nextInPhase(_ phase: UInt64, _ interval: UInt64, after now: UInt64) -> UInt64 {
    rlc_time_next_in_phase(phase, interval, now)
  }
}

extension Time {
  /// A date on the clock that shows `now`, on the one that shows `other` at the same moment.
  static func convert(_ date: UInt64, from now: UInt64, to other: UInt64) -> UInt64 {
    if date == forever { return forever }
    if date >= now { return min(add(other, date - now), forever - 1) }
    let back = now - date
    return other > back ? other - back : 0
  }
}

extension Duration {
  private static let largest = Int64(UInt64.max / 1_000_000_000)

  /// Whole nanoseconds, rounded up (late is allowed, early is not); 0 for negative values, saturating.
  package var nanosecondsRoundedUp: UInt64 {
    if attoseconds <= 0 { return 0 }  // the polls' way: splitting costs a 128-bit division
    if self >= .seconds(Self.largest) { return Time.forever }  // `components` of more may trap
    let (seconds, attoseconds) = components
    return UInt64(seconds) * 1_000_000_000 + UInt64((attoseconds + 999_999_999) / 1_000_000_000)
  }

  init(nanoseconds: UInt64) {
    self.init(
      secondsComponent: Int64(nanoseconds / 1_000_000_000),
      attosecondsComponent: Int64(nanoseconds % 1_000_000_000) * 1_000_000_000)
  }
}
