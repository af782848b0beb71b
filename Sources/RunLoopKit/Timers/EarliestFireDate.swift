extension RunLoop {
  /// The earliest date among the mode's timers, firing ones included; nil if it has none.
  /// - SeeAlso: `CFRunLoopGetNextTimerFireDate`. - Complexity: O(1) if all are on the suspending clock and none is due,
  ///   else O(timers).
  public func nextFireDate(in mode: Mode = .default) -> Instant? {
    guard isUsable else { return nil }
    return lock.withLock {
      guard let mode = state.mode(mode) else { return nil }
      return mode.timers.firstDate(of: mode, state.collectedTimers, kernel).map { Instant(nanoseconds: $0) }
    }
  }
}
