extension RunLoop {
  /// Lets tasks sleep on a loop's timers, by the clock that stands still while the machine is suspended.
  ///
  /// ```swift
  /// try await Task.sleep(for: .seconds(1), tolerance: .milliseconds(50), clock: loop.clock)
  /// ```
  ///
  /// A sleep is a timer in a mode of the loop: it shares wakes with the loop's other timers within their tolerances,
  /// keeps the mode from being empty, and is over only while the loop runs in that mode. Under virtual time it takes no
  /// real time, like the loop's other timers [RLK-SLEEP-5]. For the other two clocks: `ContinuousClock`, `WallClock`.
  /// It retains the loop.
  public struct Clock: _Concurrency.Clock {
    /// The clock's moments.
    public typealias Instant = RunLoop.Instant
    let sleeps: Sleeps

    /// This moment, on the loop's clock.
    public var now: Instant { sleeps.now() }
    /// One nanosecond, of dates. How late a sleep ends is the loop's matter.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the calling task until a moment.
    ///
    /// - Parameters:
    ///   - deadline: The sleep never ends earlier [RLK-SLEEP-1]. A moment in the past: when the loop next fires timers.
    ///   - tolerance: How much later the loop may end the sleep, to save a wake. Nil: its `defaultTimerTolerance`.
    /// - Throws: `CancellationError` as soon as the task is cancelled, without waiting for the loop [RLK-SLEEP-2].
    ///   `.loopEnded` if the loop has ended, or ends meanwhile [RLK-SLEEP-3]; `.invalidItem` if other code invalidates
    ///   or removes the timer; `.forked`; `.system` as `add(_:to:)`.
    /// - Thread: Any. - Blocks: No. - Complexity: O(log timers).
    nonisolated(nonsending) public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
      try await sleeps.sleep(until: deadline, tolerance)
    }
  }

  /// Lets tasks sleep on a loop's timers, by the clock that goes on while the machine is suspended [RLK-SLEEP-4]. Else
  /// as `RunLoop.Clock`.
  /// It retains the loop.
  public struct ContinuousClock: _Concurrency.Clock {
    /// The clock's moments.
    public typealias Instant = RunLoop.ContinuousInstant
    fileprivate let sleeps: Sleeps

    /// This moment, on the loop's clock.
    public var now: Instant { sleeps.now() }
    /// One nanosecond, of dates.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the calling task until a moment: as `RunLoop.Clock` does.
    ///
    /// - Parameters:
    ///   - deadline: Never earlier than this. If it passes while the machine is suspended, the sleep ends when the
    ///     machine resumes.
    ///   - tolerance: How much later the sleep may end. Nil: the loop's `defaultTimerTolerance`.
    /// - Throws: As `RunLoop.Clock.sleep(until:tolerance:)`.
    /// - Thread: Any. - Blocks: No. - Complexity: O(log timers).
    nonisolated(nonsending) public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
      try await sleeps.sleep(until: deadline, tolerance)
    }
  }

  /// Lets tasks sleep on a loop's timers until a time of day, also if the clock is set meanwhile. Else as
  /// `RunLoop.Clock`.
  /// It retains the loop.
  public struct WallClock: _Concurrency.Clock {
    /// The clock's moments.
    public typealias Instant = RunLoop.WallInstant
    fileprivate let sleeps: Sleeps

    /// This moment, on the loop's clock.
    public var now: Instant { sleeps.now() }
    /// One nanosecond, of dates.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the calling task until a moment: as `RunLoop.Clock` does.
    ///
    /// - Parameters:
    ///   - deadline: Never earlier than this, by the time of day at the end of the sleep.
    ///   - tolerance: How much later the sleep may end. Nil: the loop's `defaultTimerTolerance`.
    /// - Throws: As `RunLoop.Clock.sleep(until:tolerance:)`.
    /// - Thread: Any. - Blocks: No. - Complexity: O(log timers).
    nonisolated(nonsending) public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
      try await sleeps.sleep(until: deadline, tolerance)
    }
  }

  /// The clock for sleeps of tasks on this loop's timers, in its common modes.
  /// - Thread: Any. - Complexity: O(1).
  public var clock: Clock { clock(in: .common) }

  /// The clock for sleeps that are over only while the loop runs in `mode`.
  /// - Parameter mode: `.common` stands for all common modes.
  /// - Thread: Any. - Complexity: O(1).
  public func clock(in mode: Mode) -> Clock { Clock(sleeps: Sleeps(loop: self, mode: mode)) }

  /// As `clock`; the clock goes on while the machine is suspended.
  /// - Thread: Any. - Complexity: O(1).
  public var continuousClock: ContinuousClock { continuousClock(in: .common) }

  /// As `clock(in:)`; the clock goes on while the machine is suspended.
  /// - Parameter mode: `.common` stands for all common modes.
  /// - Thread: Any. - Complexity: O(1).
  public func continuousClock(in mode: Mode) -> ContinuousClock {
    ContinuousClock(sleeps: Sleeps(loop: self, mode: mode))
  }

  /// As `clock`, by the time of day.
  /// - Thread: Any. - Complexity: O(1).
  public var wallClock: WallClock { wallClock(in: .common) }

  /// As `clock(in:)`, by the time of day.
  /// - Parameter mode: `.common` stands for all common modes.
  /// - Thread: Any. - Complexity: O(1).
  public func wallClock(in mode: Mode) -> WallClock { WallClock(sleeps: Sleeps(loop: self, mode: mode)) }
}

/// A clock of a loop, whichever it is.
protocol LoopClock {
  var loop: RunLoop { get }
  var timerClock: RunLoop.TimerClock { get }
}

extension RunLoop.Clock: LoopClock {
  var loop: RunLoop { sleeps.loop }
  var timerClock: RunLoop.TimerClock { .suspending }
}

extension RunLoop.ContinuousClock: LoopClock {
  var loop: RunLoop { sleeps.loop }
  var timerClock: RunLoop.TimerClock { .continuous }
}

extension RunLoop.WallClock: LoopClock {
  var loop: RunLoop { sleeps.loop }
  var timerClock: RunLoop.TimerClock { .wall }
}

/// The sleeps of tasks on one loop's timers.
struct Sleeps: Sendable {
  let loop: RunLoop
  let mode: RunLoop.Mode

  func now<Moment: RunLoop.ClockInstant>() -> Moment { Moment(nanoseconds: loop.kernel.now(Moment.clock)) }

  nonisolated(nonsending) func sleep(until deadline: some RunLoop.ClockInstant, _ tolerance: Duration?) async throws {
    try await Resumption<Void>.wait { task in
      let sleeper = Sleeper(task, on: loop)
      let timer = RunLoop.Timer(fireDate: deadline) { _ in sleeper.wake() }
      timer.label = "sleep of a task"
      timer.endsWithItsLoop = true
      if let tolerance { timer.tolerance = tolerance }
      do {
        try loop.add(timer, to: mode)
      } catch {
        task.settle(.failure(error))  // before the timer releases the sleeper
        throw error
      }
      // The loop alone holds the timer, and that the sleeper, which tells of its end.
      return { [weak timer] in
        timer?.invalidate()
        return false
      }
    }
  }
}

/// A task that sleeps. Only its timer's closure holds it: if that is released before the date, nobody else will wake
/// the task.
private final class Sleeper: Sendable {
  private let task: Resumption<Void>
  private let loop: RunLoop

  init(_ task: Resumption<Void>, on loop: RunLoop) {
    self.task = task
    self.loop = loop
  }

  func wake() { task.settleUnlessCalledOff(()) }

  deinit {
    if loop.isInThisProcess { task.lose(loop.hasEnded ? loop.endedError : .invalidItem("the timer of a sleep")) }
  }
}
