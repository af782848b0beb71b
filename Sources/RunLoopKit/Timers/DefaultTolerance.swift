extension RunLoop {
  /// The tolerance of timers that are added without one, as if it had been set then; zero at first, and at least. A
  /// timer that must be exact all the same is given a tolerance of zero. Timers that are members already keep theirs; a
  /// repeating one gets at most half its interval.
  ///
  /// Delayed performs, sleeps of tasks and delayed jobs whose tolerance is nil count as timers without one. The default
  /// does not count for dates that the kit has promised: display links, commits, the pauses of a `RateLimit`
  /// [RLK-TIMER-13], and the limits of runs, requests and waits.
  ///
  /// Wakes that are saved by it: `Statistics.wakesSaved`. - Thread: Any.
  public var defaultTimerTolerance: Duration {
    get { isUsable ? Duration(nanoseconds: lock.withLock { state.extras?.defaultTolerance ?? 0 }) : .zero }
    set {
      guard isUsable else { return }
      lock.withLock { if !hasEnded { state.makeExtras().defaultTolerance = newValue.nanosecondsRoundedUp } }
    }
  }

  /// Of timers that are added without one, in nanoseconds.
  @inline(__always)
  var defaultTolerance: UInt64 { state.extras?.defaultTolerance ?? 0 }
}
