extension RunLoop.Executor {
  /// Runs a job after a delay, on the loop's thread [RLK-EXEC-13].
  ///
  /// A timer in the executor's modes measures the delay. It shares wakes with the loop's other timers within their
  /// tolerances, keeps the modes from being empty, and under virtual time takes no real time. When the date has come,
  /// the job is enqueued as by `enqueue(_:)`: it runs in the next pass, in its turn.
  ///
  /// The loop's timers measure delays of this loop's clocks, whatever mode the clock names, and of `ContinuousClock`
  /// and `SuspendingClock` of the standard library. For any other clock a task of this executor sleeps on that clock
  /// and then enqueues the job, even if the sleep fails [RLK-EXEC-15].
  ///
  /// Other executors may pass their jobs to this call. When such a job begins here, the runtime sees that its task
  /// belongs to the other executor and enqueues the job there. That executor then passes the job to this call again. A
  /// job that comes back while this executor runs it does not wait again [RLK-EXEC-18].
  ///
  /// A job whose date comes after the end of the loop's thread runs at that date, on the thread that runs the jobs of
  /// ended loops [RLK-EXEC-14]. Virtual time ends with the loop's thread, so the rest of the delay is real time. A
  /// child of fork(2) runs no job that waits in its parent [RLK-EXEC-20].
  /// - Parameters:
  ///   - job: A part of a task, up to its next suspension.
  ///   - delay: The job never runs earlier. With zero or less, it is enqueued at once.
  ///   - tolerance: How much later the loop may enqueue the job, to save a wake. Nil means the loop's
  ///     `defaultTimerTolerance`.
  ///   - clock: The clock that measures the delay.
  /// - Thread: Any. - Blocks: No. - Complexity: O(log timers), and the allocation of a timer.
  /// - SeeAlso: SE-0505, which requires this of executors.
  public func enqueue<C: Clock>(
    _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration? = nil, clock: C
  ) {
    enqueue(UnownedJob(job), after: delay, or: nil, tolerance, clock)
  }

  /// Runs a job at a moment of a clock, like `enqueue(_:after:tolerance:clock:)`.
  /// - Parameters:
  ///   - job: A part of a task, up to its next suspension.
  ///   - instant: The job never runs earlier. If the moment is in the past, the job is enqueued at once.
  ///   - tolerance: How much later the loop may enqueue the job. Nil means the loop's `defaultTimerTolerance`.
  ///   - clock: The clock of the moment.
  /// - Thread: Any. - Blocks: No. - Complexity: O(log timers), and the allocation of a timer.
  public func enqueue<C: Clock>(
    _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration? = nil, clock: C
  ) {
    enqueue(UnownedJob(job), after: clock.now.duration(to: instant), or: instant, tolerance, clock)
  }

  private func enqueue<C: Clock>(
    _ job: UnownedJob, after delay: C.Duration, or instant: C.Instant?, _ tolerance: C.Duration?, _ clock: C
  ) {
    guard delay > .zero, !hasWaited(job) else { return enqueueDelayed(job) }
    let loop = loopOfThisProcess
    guard let kind = timerClock(of: clock, on: loop), let delay = delay as? Duration else {
      return handOn(job, until: instant ?? clock.now.advanced(by: delay), tolerance, clock)
    }
    guard let loop else { return EndedLoops.run(job, of: self, after: delay, by: kind) }
    let date =
      (instant as? any RunLoop.ClockInstant)?.nanoseconds
      ?? Time.add(loop.kernel.now(kind), delay.nanosecondsRoundedUp)
    wait(for: DelayedJob(job, of: self, until: date, on: kind, loop.kernel), loop, tolerance as? Duration)
  }

  private func wait(for delayed: DelayedJob, _ loop: RunLoop, _ tolerance: Duration?) {
    let timer = delayed.timer()
    if let tolerance { timer.tolerance = tolerance }
    do {
      for mode in modes { try loop.add(timer, to: mode) }
    } catch {
      timer.invalidate()  // releases the delayed job, whose deinit has another thread run it
    }
  }

  /// Nil if the loop's timers cannot measure delays on the clock.
  private func timerClock<C: Clock>(of clock: C, on loop: RunLoop?) -> RunLoop.TimerClock? {
    if clock is ContinuousClock { return .continuous }
    if clock is SuspendingClock { return .suspending }
    // If both this loop and the clock's loop have ended, neither has timers, and only the kind of the clock counts.
    guard let clock = clock as? any AnyLoopClock, clock.loop === loop || loop == nil && clock.loop.hasEnded else {
      return nil
    }
    return clock.timerClock
  }

  /// Has a task sleep on the clock and then enqueue the job. That task prefers this executor, so that its own jobs run
  /// on the executor's thread, in a reproducible order.
  private func handOn<C: Clock>(
    _ job: UnownedJob, until instant: C.Instant, _ tolerance: C.Duration?, _ clock: C
  ) {
    Task.detached(executorPreference: self, priority: TaskPriority(rawValue: job.priority.rawValue)) {
      try? await clock.sleep(until: instant, tolerance: tolerance)
      // Time is left if the sleep has failed because the clock's loop has ended.
      if let kind = (clock as? any AnyLoopClock)?.timerClock, let left = clock.now.duration(to: instant) as? Duration,
        left > .zero
      {
        EndedLoops.run(job, of: self, after: left, by: kind)
      } else {
        self.enqueueDelayed(job)
      }
    }
  }
}

/// A job that waits for its date. Only the closure of its timer retains this object. If the closure is released before
/// the date, the timer will not fire. Then the deinit has a timer of another thread measure the rest of the delay.
final class DelayedJob: @unchecked Sendable {
  private let job: UnownedJob
  private let executor: RunLoop.Executor
  private let date: UInt64
  private let clock: RunLoop.TimerClock
  private let kernel: Kernel?
  private let forkGeneration = Kernel.forkGeneration
  /// True once the job was passed on: then the deinit does nothing.
  private var isOver = false

  /// - Parameter kernel: The kernel table of the timer's loop.
  init(
    _ job: UnownedJob, of executor: RunLoop.Executor, until date: UInt64, on clock: RunLoop.TimerClock,
    _ kernel: Kernel?
  ) {
    self.job = job
    self.executor = executor
    self.date = date
    self.clock = clock
    self.kernel = kernel
  }

  func timer() -> RunLoop.Timer {
    let timer = RunLoop.Timer(
      clock, date: date, interval: .zero, tolerance: nil, order: 0, onlyLoop: nil,
      unchecked: { _ in self.enqueue() })
    timer.label = "delayed job"
    timer.isHidden = true
    return timer
  }

  private func enqueue() {
    isOver = true
    executor.enqueueDelayed(job)
  }

  /// Has a task sleep and then enqueue the job, because no timer can be made.
  func handOver(after delay: Duration) {
    isOver = true
    Task.detached { [job, executor, clock] in
      if clock == .suspending {
        try? await Task.sleep(for: delay, clock: .suspending)
      } else {
        try? await Task.sleep(for: delay, clock: .continuous)
      }
      executor.enqueueDelayed(job)
    }
  }

  deinit {
    guard !isOver, forkGeneration == Kernel.forkGeneration else { return }
    let now = kernel.now(clock)
    guard now < date else { return executor.enqueueDelayed(job) }
    EndedLoops.run(job, of: executor, after: Duration(nanoseconds: date - now), by: clock)
  }
}

extension EndedLoops {
  /// Runs the job when the delay is over, in real time. A timer on the thread for jobs of ended loops enqueues it. If
  /// no such thread or timer can be made, a task sleeps and then enqueues it.
  /// - Thread: Any. No lock is held.
  static func run(
    _ job: UnownedJob, of executor: RunLoop.Executor, after delay: Duration, by clock: RunLoop.TimerClock
  ) {
    let date = Time.add((nil as Kernel?).now(clock), delay.nanosecondsRoundedUp)
    let delayed = DelayedJob(job, of: executor, until: date, on: clock, nil)
    if !add(Kernel.outside { delayed.timer() }) { delayed.handOver(after: delay) }
  }
}
