/// When a timer fires, as pure arithmetic on nanoseconds.
package struct TimerSchedule {
  /// The date that the timer reports. A date in the past is reported as given until the timer has fired (A14).
  package var reported: UInt64
  /// The date at which the timer fires. A date in the past becomes the moment at which it was set.
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

  /// When the timer is due. On the wall clock a date in the past stays as given, in case the clock is set back before
  /// the timer fires.
  package func date(on clock: RunLoop.TimerClock) -> UInt64 { clock == .wall ? min(reported, date) : date }

  /// Called when the timer fires. If the timer's clock was set back since the date was set, `date` still lies ahead,
  /// and becomes now.
  package mutating func settle(now: UInt64) { date = min(date, now) }

  /// Whether the date had passed when it was set, by the clock of the thread that set it.
  var isLaterThanSaid: Bool { date > reported }

  /// Called if the date had passed when it was set, and the timer is added to a loop whose clock shows `now`. The
  /// thread that set it may have had another clock. A date that lies ahead by the loop's clock counts as it was given;
  /// any other becomes `now` at the latest.
  @inline(never)
  package mutating func follow(now: UInt64) { date = min(date, max(reported, now)) }

  /// A repeating timer gets at most half its interval (A2).
  package mutating func setTolerance(_ tolerance: UInt64, interval: UInt64) {
    self.tolerance = interval > 0 ? min(tolerance, interval / 2) : tolerance
  }

  /// Called after the callout for the date `fired`. Moves to the first date of the phase after `now`, and so skips
  /// missed dates.
  package mutating func advance(fired: UInt64, interval: UInt64, now: UInt64) {
    date = Time.nextInPhase(fired, interval, after: now)
    reported = date
  }
}
