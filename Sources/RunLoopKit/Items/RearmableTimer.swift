extension RunLoop.Timer {
  /// A timer for deadlines that are set again and again: it fires once for each date that it is given, rests after that, and
  /// stays valid until `invalidate()`. A one-shot timer is invalid when it has fired, and would have to be made and added anew.
  ///
  /// While it rests its date is `.distantFuture`. Any later `fireDate`, `rearm(after:)` too, arms it, in the callout as well: a date in the past or
  /// of this moment is one that lies behind the date that fires. In a mode it is a member like any timer, resting or not: a
  /// loop that has nothing else goes on sleeping. It is a repeating timer whose interval never ends; nothing else is known
  /// of it, and a repeating timer with an interval of 584 years is one.
  /// - Parameter fireDate: The first date; `.distantFuture`: it rests at first. The others: as for any timer.
  /// - Complexity: To arm it is to set a timer's date: O(log timers), no allocation, and no system call unless it is, or was, the
  ///   first date of its mode.
  /// - SeeAlso: `CFRunLoopTimerSetNextFireDate`; `ev_timer_again` of libev.
  public convenience init(
    rearmable fireDate: RunLoop.Instant, tolerance: Duration = .zero, order: Int = 0,
    _ body: @escaping @Sendable (RunLoop.Timer) -> Void
  ) {
    self.init(
      .suspending, date: fireDate.nanoseconds, interval: .forever, tolerance: tolerance, order: order, context: nil,
      onlyHost: nil, unchecked: body)
  }

  /// On the clock of `fireDate`.
  public convenience init(
    rearmable fireDate: some RunLoop.ClockInstant, tolerance: Duration = .zero, order: Int = 0,
    _ body: @escaping @Sendable (RunLoop.Timer) -> Void
  ) {
    self.init(
      type(of: fireDate).clock, date: fireDate.nanoseconds, interval: .forever, tolerance: tolerance, order: order,
      context: nil, onlyHost: nil, unchecked: body)
  }

  /// Whether it rests after it has fired, rather than to be invalid or to go on by an interval.
  public var isRearmable: Bool { intervalNanoseconds == Time.forever }

  /// Fires next after `delay`, from now on its own clock; what it was to fire for before is forgotten. For timers of every
  /// kind; nothing if the timer is invalid.
  ///
  /// Unlike a new `fireDate` it makes no pass of a sleeping loop: the kernel wakes the loop when the date comes [RLK-REARM-4].
  /// - Parameter delay: Zero or less: at once, in the next pass.
  /// - Thread: Any; a sleeping loop is on time for an earlier date too. - Complexity: O(log timers), a reading of the clock,
  ///   and one system call if it is, or was, the first date of a mode; no write to the loop.
  public func rearm(after delay: Duration) {
    guard isValid else { return }
    change(.delay(delay.nanosecondsRoundedUp))
  }

  /// Fires next after `delay` and a random part of `jitter`, drawn anew with each call: so that many that begin together, or
  /// fail together, do not come back together.
  ///
  /// - Parameters:
  ///   - delay: Zero or less: none.
  ///   - jitter: The most that is added, drawn evenly to the nanosecond. Zero or less: none.
  /// - Thread: Any; as `rearm(after:)`. - Complexity: As for `rearm(after:)`, and a random number.
  public func rearm(after delay: Duration, jitter: Duration) {
    var generator = SystemRandomNumberGenerator()
    rearm(after: delay, jitter: jitter, using: &generator)
  }

  /// The same with a source of random numbers of one's own: for tests.
  public func rearm(after delay: Duration, jitter: Duration, using generator: inout some RandomNumberGenerator) {
    let part = UInt64.random(in: 0...jitter.nanosecondsRoundedUp, using: &generator)
    guard isValid else { return }
    change(.delay(Time.add(delay.nanosecondsRoundedUp, part)))
  }

  /// Forgets its date: it stays valid and fires when it is given another one. For timers of every kind.
  ///
  /// - Thread: Any; a sleeping loop sleeps on. A callout that runs at this moment on another thread is not waited for.
  /// - Complexity: As for `rearm(after:)`.
  public func rest() {
    guard isValid else { return }
    change(.date(Time.forever, isToldOf: false))
  }
}

extension Duration {
  /// No less than the core's "never".
  static var forever: Duration { .seconds(Int64.max) }
}
