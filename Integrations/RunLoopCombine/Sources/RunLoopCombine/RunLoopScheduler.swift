public import OpenCombine
public import RunLoopKit

/// Lets publishers deliver on a run loop.
///
/// ```swift
/// numbers.debounce(for: .milliseconds(200), scheduler: loop.scheduler).sink { print($0) }
/// ```
///
/// Actions are called on the loop's thread, while it runs in the scheduler's mode: those without a date as its blocks,
/// those with a date by timers, which share wakes with the loop's other timers within their tolerances, and take no time
/// under virtual time. What waits keeps the mode from being empty.
/// - Thread: Any: a value, which retains the loop.
public struct RunLoopScheduler: Scheduler {
  /// What is done with an action that will not be called.
  public struct SchedulerOptions: Sendable {
    /// Called, in place of the action, if the loop has ended, or ends before the action's turn. On the thread that
    /// schedules, or that ends the loop.
    public var onDrop: @Sendable () -> Void

    /// - Parameter onDrop: Often what tells a subscriber of a failure.
    public init(onDrop: @escaping @Sendable () -> Void) { self.onDrop = onDrop }
  }

  /// Whose thread calls the actions.
  public let loop: RunLoop
  /// In which the actions are called.
  public let mode: RunLoop.Mode

  fileprivate init(_ loop: RunLoop, _ mode: RunLoop.Mode) {
    self.loop = loop
    self.mode = mode
  }

  /// This moment, on the loop's suspending clock.
  public var now: SchedulerTime { SchedulerTime(loop.clock.now) }

  /// None: an action may be called as soon as its date has come.
  public var minimumTolerance: SchedulerTime.Stride { .zero }

  /// Calls an action in the loop's next pass, in the order of scheduling.
  ///
  /// - Parameters:
  ///   - options: Nil: a dropped action is told on standard error.
  ///   - action: Called once, or dropped. As OpenCombine declares it, it may capture what is not sendable: whoever
  ///     schedules must not go on using that on another thread.
  /// - Thread: Any. - Blocks: No.
  public func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
    let turn = Turn(action, orElse: options)
    do { try loop.perform(in: mode) { turn.take() } } catch { turn.drop() }
  }

  /// Calls an action once its date has come.
  ///
  /// - Parameters:
  ///   - date: Never earlier than this. A date in the past: when the loop next fires timers.
  ///   - tolerance: How much later the loop may call it, to save a wake.
  ///   - options: As for `schedule(options:_:)`.
  ///   - action: As there.
  /// - Thread: Any. - Blocks: No. - Complexity: O(log timers).
  public func schedule(
    after date: SchedulerTime, tolerance: SchedulerTime.Stride, options: SchedulerOptions?,
    _ action: @escaping () -> Void
  ) {
    let turn = Turn(action, orElse: options)
    let timer = RunLoop.Timer(fireDate: date.instant, tolerance: tolerance.positive) { _ in turn.take() }
    do { try loop.add(timer, to: mode) } catch { turn.drop() }
  }

  /// Calls an action at a date, and then at each multiple of an interval behind it.
  ///
  /// - Parameters:
  ///   - date: Of the first call.
  ///   - interval: From date to date. Dates that pass while the loop does something else are left out. Zero or less:
  ///     the loop calls the action in each pass.
  ///   - tolerance: Of each call.
  ///   - options: Its `onDrop` is called once, when the loop ends.
  ///   - action: As for `schedule(options:_:)`, but called until it is cancelled.
  /// - Returns: Whose `cancel()` ends the calls, from any one thread at a time; so does its release.
  /// - Thread: Any. - Blocks: No. - Complexity: O(log timers).
  public func schedule(
    after date: SchedulerTime, interval: SchedulerTime.Stride, tolerance: SchedulerTime.Stride,
    options: SchedulerOptions?, _ action: @escaping () -> Void
  ) -> any Cancellable {
    let turn = Turn(action, orElse: options)
    let timer = RunLoop.Timer(
      fireDate: date.instant, interval: max(interval.positive, .nanoseconds(1)), tolerance: tolerance.positive
    ) { _ in turn.repeat() }
    do { try loop.add(timer, to: mode) } catch { turn.drop() }
    // The loop alone holds both: when it ends, the action is dropped, whoever keeps the answer.
    return AnyCancellable { [weak turn, weak timer] in
      turn?.cancel()
      timer?.invalidate()
    }
  }
}

extension RunLoop {
  /// For OpenCombine's operators: calls on this loop, in its common modes. Thread: any.
  public var scheduler: RunLoopScheduler { scheduler(in: .common) }

  /// The same in one mode: while the loop runs in another one, actions wait.
  /// - Parameter mode: `.common` stands for all common modes.
  /// - Thread: Any.
  public func scheduler(in mode: Mode) -> RunLoopScheduler { RunLoopScheduler(self, mode) }
}
