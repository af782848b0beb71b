extension RunLoop.Timer {
  /// Creates a timer for deadlines that are set again and again. The timer fires once for each date, is then disarmed,
  /// and stays valid until `invalidate()`. A one-shot timer, in contrast, is invalid once it has fired.
  ///
  /// While the timer is disarmed, its date is `.distantFuture`. `rearm(after:)` and a new `fireDate` arm it, also in
  /// its own callout. Armed or not, it is a member of its modes like any timer and keeps them from being empty. A timer
  /// that repeats with an interval of 584 years or more is rearmable as well.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let idle = RunLoop.Timer(rearmable: .distantFuture) { _ in
  ///   print("idle for ten milliseconds")  // prints idle for ten milliseconds
  ///   loop.stop()
  /// }
  /// try loop.add(idle)
  /// idle.rearm(after: .milliseconds(10))  // again with each request
  /// try loop.run()
  /// ```
  /// - Parameters:
  ///   - fireDate: The first date; `.distantFuture` creates the timer disarmed.
  ///   - tolerance: How late the loop may fire the timer to save a wake. Zero or less means not at all; nil means its
  ///     loop's default.
  ///   - order: Ignored: timers fire in the order of their dates.
  ///   - body: Called each time the timer fires: on the loop's thread, with no lock held.
  /// - Complexity: Arming is O(log timers), without an allocation, and without a system call unless the timer is, or
  ///   was, the first of its mode [RLK-REARM-1].
  /// - SeeAlso: `CFRunLoopTimerSetNextFireDate`; `ev_timer_again` of libev.
  public convenience init(
    rearmable fireDate: RunLoop.Instant, tolerance: Duration? = nil, order: Int = 0,
    _ body: @escaping @Sendable (RunLoop.Timer) -> Void
  ) {
    self.init(
      .suspending, date: fireDate.nanoseconds, interval: .forever, tolerance: tolerance, order: order, onlyLoop: nil,
      unchecked: body)
  }

  /// Creates a disarmed timer on any clock. `rearm(after:)` arms it, and so do `continuousFireDate` and `wallFireDate`.
  ///
  /// - Parameters:
  ///   - clock: The clock of the timer's dates.
  ///   - tolerance: How late the loop may fire the timer to save a wake. Zero or less means not at all; nil means its
  ///     loop's default.
  ///   - order: Ignored: timers fire in the order of their dates.
  ///   - body: Called each time the timer fires: on the loop's thread, with no lock held.
  public convenience init(
    rearmableOn clock: RunLoop.TimerClock, tolerance: Duration? = nil, order: Int = 0,
    _ body: @escaping @Sendable (RunLoop.Timer) -> Void
  ) {
    self.init(
      clock, date: Time.forever, interval: .forever, tolerance: tolerance, order: order, onlyLoop: nil,
      unchecked: body)
  }

  /// Whether the timer is disarmed when it has fired. Other one-shot timers are invalidated then, and repeating timers
  /// go on.
  public var isRearmable: Bool { intervalNanoseconds == Time.forever }

  /// Sets the timer to fire next when `delay` has passed on its own clock. This replaces its earlier date. Works for
  /// timers of every kind; does nothing if the timer is invalid.
  ///
  /// Unlike setting `fireDate`, the call causes no pass of a sleeping loop: the kernel wakes the loop when the date
  /// comes [RLK-REARM-4].
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let timer = RunLoop.Timer(after: .seconds(60)) { _ in loop.stop() }
  /// try loop.add(timer)
  /// timer.rearm(after: .milliseconds(10))  // not in a minute
  /// print(try loop.run(for: .seconds(5)))  // prints stopped
  /// ```
  /// - Parameter delay: With zero or less, the timer fires in the next pass.
  /// - Thread: Any; a sleeping loop is on time for an earlier date too.
  /// - Complexity: O(log timers), a reading of the clock, and one system call if the timer is, or was, the first of a
  ///   mode; no write to the loop's eventfd.
  public func rearm(after delay: Duration) {
    guard isValid else { return explainInvalid("rearm(after:)") }
    change(.delay(delay.nanosecondsRoundedUp))
  }

  /// Sets the timer to fire next after `delay` and a random part of `jitter`. Each call draws another part, so that
  /// many timers that are set together do not fire together [RLK-REARM-5].
  ///
  /// - Parameters:
  ///   - delay: Zero or less means none.
  ///   - jitter: The most that is added, drawn evenly to the nanosecond. Zero or less means none.
  /// - Thread: Any; as `rearm(after:)`. - Complexity: As for `rearm(after:)`, and a random number.
  public func rearm(after delay: Duration, jitter: Duration) {
    var generator = SystemRandomNumberGenerator()
    rearm(after: delay, jitter: jitter, using: &generator)
  }

  /// As `rearm(after:jitter:)`, with your own source of random numbers, as tests need it.
  public func rearm(after delay: Duration, jitter: Duration, using generator: inout some RandomNumberGenerator) {
    let part = UInt64.random(in: 0...jitter.nanosecondsRoundedUp, using: &generator)
    guard isValid else { return explainInvalid("rearm(after:jitter:)") }
    change(.delay(Time.add(delay.nanosecondsRoundedUp, part)))
  }

  /// Takes the timer's date away: the timer stays valid, and fires only after it was given another date. Works for
  /// timers of every kind.
  ///
  /// - Thread: Any; a sleeping loop is not woken. - Blocks: No: the call does not wait for a callout of another thread.
  /// - Complexity: As for `rearm(after:)`.
  public func disarm() {
    guard isValid else { return }
    change(.date(Time.forever, causesPass: false))
  }
}

extension Duration {
  /// So long that it counts as never.
  static var forever: Duration { .seconds(Int64.max) }
}
