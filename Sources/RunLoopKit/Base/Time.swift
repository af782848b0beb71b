internal import CRunLoopCore

/// Saturating arithmetic on dates, which are nanoseconds on a clock; `forever` means never.
@usableFromInline
package enum Time {
  package static let forever = UInt64.max

  static func add(_ time: UInt64, _ delta: UInt64) -> UInt64 { rlc_time_add(time, delta) }

  /// The first `phase + n * interval` (n >= 1) after `now`, computed without a loop.
  static func nextInPhase(_ phase: UInt64, _ interval: UInt64, after now: UInt64) -> UInt64 {
    rlc_time_next_in_phase(phase, interval, now)
  }

  @usableFromInline
  static func now(_ clock: RunLoop.TimerClock) -> UInt64 { Kernel.now(clock) }

  @usableFromInline
  static func advance(_ time: UInt64, by duration: Duration) -> UInt64 {
    if duration >= .zero { return add(time, duration.nanosecondsRoundedUp) }
    // The most negative duration has no opposite.
    let back = (Duration.zero - max(duration, .seconds(Int64.min))).nanosecondsRoundedUp
    return time > back ? time - back : 0
  }

  /// How much later the second time is; negative if it is earlier.
  @usableFromInline
  static func difference(_ first: UInt64, _ second: UInt64) -> Duration {
    second >= first
      ? Duration(nanoseconds: second - first) : Duration.zero - Duration(nanoseconds: first - second)
  }

  /// Converts a date on a clock that shows `now` to a clock that shows `other` at the same moment.
  static func convert(_ date: UInt64, from now: UInt64, to other: UInt64) -> UInt64 {
    if date == forever { return forever }
    if date >= now { return min(add(other, date - now), forever - 1) }
    let back = now - date
    return other > back ? other - back : 0
  }
}

extension Duration {
  /// The first number of whole seconds that counts as never, in attoseconds.
  private static var largest: Int128 { 18_446_744_073_000_000_000_000_000_000 }

  /// The duration in nanoseconds; 0 if it is negative, and `Time.forever` if it is too large. Rounded up, because a
  /// timer may be late, but never early.
  @inline(__always)
  package var nanosecondsRoundedUp: UInt64 {
    let attoseconds = attoseconds
    if attoseconds <= 0 { return 0 }
    return Self.nanosecondsRoundedUp(attoseconds)
  }

  /// Takes one division instruction. `Duration.components` divides 128 bits by 128, which takes more.
  @inline(never)
  private static func nanosecondsRoundedUp(_ attoseconds: Int128) -> UInt64 {
    if attoseconds >= largest { return Time.forever }
    let parts = UInt128(attoseconds)
    // The quotient fits into 64 bits, because `attoseconds` is less than `largest`.
    let (quotient, remainder) = (1_000_000_000 as UInt64).dividingFullWidth(
      (UInt64(truncatingIfNeeded: parts >> 64), UInt64(truncatingIfNeeded: parts)))
    return quotient + (remainder > 0 ? 1 : 0)
  }

  init(nanoseconds: UInt64) {
    self.init(
      secondsComponent: Int64(nanoseconds / 1_000_000_000),
      attosecondsComponent: Int64(nanoseconds % 1_000_000_000) * 1_000_000_000)
  }
}
