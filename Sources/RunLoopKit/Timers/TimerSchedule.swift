/// When a timer fires, as pure arithmetic on nanoseconds.
package struct TimerSchedule {
  /// What is reported; a date in the past is reported until the timer has fired once (A14).
  package var reported: UInt64
  /// What counts: a date in the past means now.
  package var date: UInt64
  package var tolerance: UInt64

  package init(date: UInt64, now: UInt64) {
    reported = date
    self.date = max(date, now)
    tolerance = 0
  }

  package mutating func setDate(_ date: UInt64, now: UInt64) {
    reported = date
    self.date = max(date, now)
  }

  /// When it is due. A date in the past on the wall clock stays that date, in case the clock is set back before it
  /// fires.
  @inline(__always)
  package func date(on clock: RunLoop.TimerClock) -> UInt64 { clock == .wall ? min(reported, date) : date }

  /// It fires, though "now" of the moment when it was set has not come: the clock was set back since.
  package mutating func settle(now: UInt64) { date = min(date, now) }

  /// The date had passed when it was set, by the clock of the thread that set it.
  @inline(__always)
  var isLaterThanSaid: Bool { date > reported }

  /// A date is on the clock of the loop that the timer is added to, by which it may lie ahead, or have passed earlier.
  @inline(never)
  package mutating func follow(now: UInt64) { date = min(date, max(reported, now)) }

  /// At most half the interval for a repeating timer (A2).
  package mutating func setTolerance(_ tolerance: UInt64, interval: UInt64) {
    self.tolerance = interval > 0 ? min(tolerance, interval / 2) : tolerance
  }

  /// After the callout of the date `fired`: to the first date of its phase that lies after `now`, so that missed ones
  /// are skipped.
  package mutating func advance(fired: UInt64, interval: UInt64, now: UInt64) {
    date = Time.nextInPhase(fired, interval, after: now)
    reported = date
  }
}
