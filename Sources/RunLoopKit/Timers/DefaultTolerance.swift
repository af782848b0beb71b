extension RunLoop {
  /// The tolerance that a timer without one gets when it is added. It is zero at first; a negative value counts as
  /// zero. A timer that must be exact needs its own tolerance of zero. Timers that are members already keep theirs. A
  /// repeating timer gets at most half its interval.
  ///
  /// Delayed performs, sleeps of tasks and delayed jobs whose tolerance is nil count as timers without one. The default
  /// does not apply to dates that RunLoopKit has promised: display links, commits, the pauses of a `RateLimit`
  /// [RLK-TIMER-13], and the limits of runs, requests and waits.
  ///
  /// `Statistics.wakesSaved` counts the wakes that tolerance saves. - Thread: Any.
  public var defaultTimerTolerance: Duration {
    get { isUsable ? Duration(nanoseconds: lock.withLock { state.extras?.defaultTolerance ?? 0 }) : .zero }
    set {
      guard isUsable else { return }
      lock.withLock { if !hasEnded { state.makeExtras().defaultTolerance = newValue.nanosecondsRoundedUp } }
    }
  }

  /// `defaultTimerTolerance` in nanoseconds. Under the lock.
  var defaultTolerance: UInt64 { state.extras?.defaultTolerance ?? 0 }
}
