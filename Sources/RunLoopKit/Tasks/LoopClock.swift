extension RunLoop {
  /// A clock with which tasks sleep on a loop's timers. Each kind of moment has one: `Clock`, `ContinuousClock` and
  /// `WallClock`.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// try loop.run {
  ///   let start = loop.clock.now
  ///   try await Task.sleep(for: .milliseconds(10), tolerance: .milliseconds(5), clock: loop.clock)
  ///   print(start.duration(to: loop.clock.now) >= .milliseconds(10))  // prints true
  /// }
  /// ```
  ///
  /// A sleep is a timer in a mode of the loop. It shares wakes with the loop's other timers within their tolerances,
  /// keeps the mode from being empty, and ends only while the loop runs in that mode. Under virtual time it takes no
  /// real time, like the loop's other timers [RLK-SLEEP-5]. The clock retains the loop.
  public struct LoopClock<Instant: ClockInstant>: _Concurrency.Clock {
    let sleeps: Sleeps

    /// The current moment of the clock.
    public var now: Instant { sleeps.now() }
    /// One nanosecond: the resolution of dates. A sleep may end later, when the loop next fires timers.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the calling task until a moment.
    ///
    /// - Parameters:
    ///   - deadline: When the sleep ends, the clock shows this moment or a later one [RLK-SLEEP-1]. For a moment in the
    ///     past, or one that passes while the machine is suspended, the sleep ends when the loop next fires timers.
    ///   - tolerance: How much later the loop may end the sleep, to save a wake. Nil means the loop's
    ///     `defaultTimerTolerance`.
    /// - Throws: `CancellationError` as soon as the task is cancelled, without waiting for the loop [RLK-SLEEP-2].
    ///   `.loopEnded` if the loop has ended, or ends meanwhile [RLK-SLEEP-3]; `.invalidItem` if other code invalidates
    ///   or removes the timer; `.forked`; `.system` as thrown by `add(_:to:)`.
    /// - Thread: Any. - Blocks: No. - Complexity: O(log timers).
    nonisolated(nonsending) public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
      try await sleeps.sleep(until: deadline, tolerance)
    }

    /// Returns this clock with sleeps that end only while the loop runs in `mode`, as in `loop.clock(in: "panel")`.
    /// - Parameter mode: `.common` stands for all common modes.
    /// - Thread: Any. - Complexity: O(1).
    public func callAsFunction(in mode: Mode) -> Self { Self(sleeps: Sleeps(loop: sleeps.loop, mode: mode)) }
  }

  /// The clock that stands still while the machine is suspended.
  public typealias Clock = LoopClock<Instant>
  /// The clock that goes on while the machine is suspended [RLK-SLEEP-4].
  public typealias ContinuousClock = LoopClock<ContinuousInstant>
  /// The time of day. If it is set during a sleep, the sleep follows the new time.
  public typealias WallClock = LoopClock<WallInstant>

  /// The clock for sleeps of tasks on this loop's timers, in its common modes.
  /// - Thread: Any. - Complexity: O(1).
  public var clock: Clock { Clock(sleeps: Sleeps(loop: self, mode: .common)) }

  /// As `clock`; the clock goes on while the machine is suspended.
  /// - Thread: Any. - Complexity: O(1).
  public var continuousClock: ContinuousClock { ContinuousClock(sleeps: clock.sleeps) }

  /// As `clock`, by the time of day.
  /// - Thread: Any. - Complexity: O(1).
  public var wallClock: WallClock { WallClock(sleeps: clock.sleeps) }
}

/// The clock of a loop, for any kind of moment.
protocol AnyLoopClock {
  var loop: RunLoop { get }
  var timerClock: RunLoop.TimerClock { get }
}

extension RunLoop.LoopClock: AnyLoopClock {
  var loop: RunLoop { sleeps.loop }
  var timerClock: RunLoop.TimerClock { Instant.clock }
}
