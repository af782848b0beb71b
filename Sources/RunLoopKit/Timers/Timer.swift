internal import Synchronization

extension RunLoop {
  /// Fires at a date, once or again and again.
  ///
  /// A timer never fires early. It is late by at most its tolerance, unless the loop is busy or runs in other modes:
  /// then it fires once at the next opportunity, skips the dates that it has missed, and keeps its phase [RLK-TIMER-1].
  /// A timer belongs to one loop at a time. Timers of equal dates fire in the order in which the dates were set
  /// [RLK-TIMER-3]. The timers that are due when the loop wakes fire after the observers of after-waiting; if such an
  /// observer runs the mode, that run fires none of them (as in CFRunLoop). The counterpart of `CFRunLoopTimerRef`.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let timer = RunLoop.Timer(after: .milliseconds(5), interval: .milliseconds(5)) { timer in
  ///   print("tick")  // prints tick
  ///   timer.invalidate()
  ///   loop.stop()
  /// }
  /// try loop.add(timer)
  /// try loop.run()
  /// ```
  public final class Timer: Item, @unchecked Sendable {
    /// The clock of the timer's dates. Never changes.
    public let clock: TimerClock
    /// Whether the timer was given a tolerance, even zero: a loop's default does not apply then. Guarded by the item's
    /// leaf lock.
    final var hasOwnTolerance: Bool
    /// True if a date was set during the callout; that date is then the next one. Guarded by the item's leaf lock.
    private final var hasNextDate = false
    @exclusivity(unchecked) final var body: Body
    /// In nanoseconds. 0 if the timer is one-shot, `Time.forever` if it is rearmable.
    let intervalNanoseconds: UInt64
    /// Guarded by the item's leaf lock.
    @exclusivity(unchecked) final var schedule: TimerSchedule

    /// A change of the schedule, to be carried out under the lock of the loop that the timer is in.
    enum Change {
      /// With `causesPass`, a sleeping loop makes a pass for the change itself (rule 18).
      case date(UInt64, causesPass: Bool)
      /// The date is this long after the change.
      case delay(UInt64)
      case tolerance(UInt64)
    }

    /// Creates a timer on the clock of its first date. On the continuous and the wall clock a date that passes while
    /// the machine is suspended is served when the machine resumes. A timer on the wall clock follows that clock when
    /// the clock is set.
    ///
    /// An expiry on any clock fires the timers that are due on all clocks, the most overdue first [RLK-CLOCK-3].
    ///
    /// ```swift
    /// let loop = RunLoop.current
    /// let date = RunLoop.WallInstant.now.advanced(by: .milliseconds(10))
    /// let alarm = RunLoop.Timer(fireDate: date) { timer in
    ///   print(timer.clock)  // prints wall
    ///   loop.stop()
    /// }
    /// try loop.add(alarm)
    /// try loop.run()
    /// ```
    /// - Parameters:
    ///   - fireDate: The first date: an `Instant`, a `ContinuousInstant` or a `WallInstant`. A date in the past means
    ///     now, and is reported as given until the timer has fired [RLK-TIMER-4].
    ///   - interval: Measured on the timer's clock. With zero or less, the timer fires once and is invalid after its
    ///     callout [RLK-CLOSURE-3]. With 584 years or more, it is rearmable.
    ///   - tolerance: How late the loop may fire the timer to save a wake; see `tolerance`. Zero or less means not at
    ///     all; nil means the `defaultTimerTolerance` of its loop [RLK-TIMER-14].
    ///   - order: Ignored: timers fire in the order of their dates.
    ///   - body: Called on the loop's thread, with no lock held; retained until the timer is invalid (`invalidate()`).
    /// - Note: A mode's first timer on another clock than the suspending one takes one more descriptor [RLK-CLOCK-2].
    ///   If no descriptor is free, the loop wakes once a second to read the clock: the timer is on time, and the loop
    ///   notices within a second that the wall clock was set.
    /// - SeeAlso: `timerfd_create(2)`.
    @inlinable
    public convenience init(
      fireDate: some ClockInstant, interval: Duration = .zero, tolerance: Duration? = nil, order: Int = 0,
      _ body: @escaping @Sendable (Timer) -> Void
    ) {
      self.init(type(of: fireDate).clock, fireDate.nanoseconds, interval, tolerance, order, body)
    }

    @usableFromInline
    convenience init(
      _ clock: TimerClock, _ date: UInt64, _ interval: Duration, _ tolerance: Duration?, _ order: Int,
      _ body: @escaping @Sendable (Timer) -> Void
    ) {
      self.init(
        clock, date: date, interval: interval, tolerance: tolerance, order: order, onlyLoop: nil,
        unchecked: body)
    }

    /// Creates a timer whose first date is `delay` from now, on any clock.
    ///
    /// ```swift
    /// let loop = RunLoop.current
    /// let timeout = RunLoop.Timer(after: .milliseconds(10), tolerance: .milliseconds(5)) { _ in
    ///   print("no answer came")  // prints no answer came
    ///   loop.stop()
    /// }
    /// try loop.add(timeout)
    /// try loop.run()
    /// ```
    /// - Parameters:
    ///   - delay: Counted from the call of the initialiser, not from `add(_:to:)` [RLK-TIMER-8]. With zero or less, the
    ///     timer is due at once. With 584 years or more, it never fires.
    ///   - interval: Measured on the timer's clock. With zero or less, the timer fires once.
    ///   - tolerance: As for a timer that is given a date.
    ///   - clock: The clock of the timer's dates.
    ///   - body: Called on the loop's thread, with no lock held; retained until the timer is invalid.
    /// - Complexity: O(1), and a reading of the clock.
    public convenience init(
      after delay: Duration, interval: Duration = .zero, tolerance: Duration? = nil,
      on clock: TimerClock = .suspending, _ body: @escaping @Sendable (Timer) -> Void
    ) {
      self.init(
        clock, date: Time.advance(Kernel.now(clock), by: delay), interval: interval,
        tolerance: tolerance, order: 0, onlyLoop: nil, unchecked: body)
    }

    init(
      _ clock: TimerClock, date: UInt64, interval: Duration, tolerance: Duration?, order: Int,
      onlyLoop: RunLoop?, unchecked body: @escaping (Timer) -> Void
    ) {
      if interval.attoseconds < 0 || tolerance?.attoseconds ?? 0 < 0 { Timer.explainNegative(interval, tolerance) }
      self.clock = clock
      self.body = Body(body)
      intervalNanoseconds = interval.nanosecondsRoundedUp
      var schedule = TimerSchedule(date: date, now: Kernel.now(clock))
      if let tolerance { schedule.setTolerance(tolerance.nanosecondsRoundedUp, interval: intervalNanoseconds) }
      self.schedule = schedule
      hasOwnTolerance = tolerance != nil
      super.init(.timer, order: order, onlyLoop: onlyLoop)
    }

    @inline(never)
    private static func explainNegative(_ interval: Duration, _ tolerance: Duration?) {
      if interval < .zero { Diagnosis.hint("Timer: the interval \(interval) counts as zero: the timer fires once") }
      if let tolerance, tolerance < .zero { Diagnosis.hint("Timer: the tolerance \(tolerance) counts as zero") }
    }

    override func releaseBody() {
      var released = Body()
      swap(&body, &released)
    }

    func withSchedule<R>(_ body: (inout TimerSchedule) -> R) -> R { withLeafLock { body(&schedule) } }

    /// The next date; nil once the timer is invalid [RLK-TIMER-6]. During the timer's callout it is still the date that
    /// fires. Setting it moves the phase of a repeating timer, and a date in the past means now. A date that is set in
    /// the callout is the next one, even if the clock was set back behind the date that fires [RLK-REARM-3]. Setting it
    /// on another thread wakes the loop and costs it a pass, as in CFRunLoop; `rearm(after:)` and `disarm()` do not
    /// [RLK-TIMER-5, RLK-RULE-18]. Setting nil is `disarm()` [RLK-REARM-6]: a valid timer without a date reports
    /// `.distantFuture`.
    ///
    /// For a timer on another clock, `fireDate` is the same moment, converted as the clocks stand now [RLK-CLOCK-4].
    /// - SeeAlso: `CFRunLoopTimerSetNextFireDate`.
    public var fireDate: Instant? {
      get { date() }
      set { setDate(newValue) }
    }

    /// `fireDate` on the continuous clock: exact for a timer on that clock, otherwise converted as the clocks stand
    /// now.
    public var continuousFireDate: ContinuousInstant? {
      get { date() }
      set { setDate(newValue) }
    }

    /// `fireDate` on the wall clock: exact for a timer on that clock, otherwise converted as the clocks stand now.
    public var wallFireDate: WallInstant? {
      get { date() }
      set { setDate(newValue) }
    }

    private func date<Date: ClockInstant>() -> Date? {
      guard isValid else { return nil }
      let date = withSchedule { $0.reported }
      if clock == Date.clock { return Date(nanoseconds: date) }
      return Date(nanoseconds: convert(date, from: clock, to: Date.clock))
    }

    private func setDate<Date: ClockInstant>(_ date: Date?) {
      guard let date else { return disarm() }
      guard isValid else { return }
      if clock == Date.clock { return change(.date(date.nanoseconds, causesPass: true)) }
      change(.date(convert(date.nanoseconds, from: Date.clock, to: clock), causesPass: true))
    }

    /// Converts a date by the clocks of `kernel`, as they stand now.
    private func convert(_ date: UInt64, from clock: TimerClock, to other: TimerClock) -> UInt64 {
      let kernel = kernel
      return Time.convert(date, from: kernel.now(clock), to: kernel.now(other))
    }

    /// The kernel of the timer's loop. A timer in no loop uses the calling thread's.
    var kernel: Kernel? { owner.map { $0.kernel } ?? .current }

    /// How much later than its date the timer may fire, so that it can share a wake with other timers. The wake of a
    /// descriptor, a signal or a post does not fire it before its tolerance has passed. At most half the interval of a
    /// repeating timer, at least zero; the phase does not shift [RLK-TIMER-2].
    public var tolerance: Duration {
      get { Duration(nanoseconds: withSchedule { $0.tolerance }) }
      set {
        guard isValid else { return }
        if newValue < .zero { Diagnosis.hint("Timer: the tolerance \(newValue) counts as zero") }
        change(.tolerance(newValue.nanosecondsRoundedUp))
      }
    }

    /// Zero for a one-shot timer, 584 years for a rearmable one.
    public var interval: Duration { Duration(nanoseconds: intervalNanoseconds) }

    /// True while the timer's callout runs. Nested runs do not fire the timer then.
    public var isFiring: Bool { firing.load(ordering: .acquiring) }

    /// The timer must be valid.
    func change(_ change: Change) {
      var isApplied = false
      while true {
        if let loop = heldOwner {
          let isOwn = loop.isCallers
          if loop.call({ $0.reschedule(self, change, isOwn: isOwn) }) { return }
        } else if isApplied {
          return
        } else {
          let now = Kernel.now(clock)
          withLeafLock { apply(change, now: now) }
          // A loop that has added the timer meanwhile may have armed the old date.
          isApplied = true
        }
      }
    }

    /// The same loop as `owner`, held for one call. It belongs to this process, since the valid timer does.
    @inline(__always)
    private var heldOwner: HeldLoop? {
      withLinks { links in
        if let loop = links.onlyLoop { return HeldLoop(loop) }
        return links.first { $0.mode != nil }.map { HeldLoop(.passUnretained($0.loop)) }
      }
    }

    /// The loop that has the timer in its modes; nil if none has.
    var owner: RunLoop? {
      withLinks { links in
        links.first { $0.mode != nil && $0.loop.isInThisProcess }?.loop
      }
    }

    /// Under the leaf lock.
    func apply(_ change: Change, now: UInt64) {
      switch change {
      case .date(let date, _): setDate(date, now: now)
      case .delay(let delay): setDate(Time.add(now, delay), now: now)
      case .tolerance(let tolerance):
        schedule.setTolerance(tolerance, interval: intervalNanoseconds)
        hasOwnTolerance = true
      }
    }

    /// During the callout "now" counts as one nanosecond later, so that a date in the past comes after the date that
    /// fires.
    private func setDate(_ date: UInt64, now: UInt64) {
      hasNextDate = isFiring
      schedule.setDate(date, now: hasNextDate ? Time.add(now, 1) : now)
    }

    /// Called after the callout for the date `fired`. Keeps the date that was set during the callout; if there is none,
    /// moves on by the interval. Under the leaf lock.
    func advance(fired: UInt64, now: UInt64) {
      if hasNextDate {
        hasNextDate = false
      } else {
        schedule.advance(fired: fired, interval: intervalNanoseconds, now: now)
      }
    }

    override var words: String {
      let now = Instant(nanoseconds: kernel.now())
      let next = fireDate.map { $0 == .distantFuture ? "never" : "next in \(now.duration(to: $0))" } ?? "invalid"
      let otherClock = clock == .suspending ? "" : ", \(clock) clock"
      let repeats = isRearmable ? "rearmable" : "interval \(interval)"
      return "<timer\(labelText) order \(order), \(next)\(otherClock), \(repeats), tolerance \(tolerance)"
        + "\(isFiring ? ", firing" : "")\(contextText)>"
    }
  }
}
