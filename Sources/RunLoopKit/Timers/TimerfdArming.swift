// When the timerfds of a mode are set. Under the lock.

extension ModePointer {
  /// Wants the mode's timerfds to expire for its first timers.
  /// - Parameter isAhead: The date that has changed is known to lie ahead.
  @inline(__always)
  func armTimers(isAhead: Bool = false, on loop: RunLoop) {
    if useCount == 0, !counts.hasWatched {
      timers.endRest()
    } else if let date = timers.unarmedDate() {
      armTimers(for: date, isAhead: isAhead, on: loop)
    }
    if ports.unwatched != nil { armRetry(on: loop) }
  }

  /// An expiry is wanted for its place among the ready ports (rule 10), also while the mode does not run; without
  /// descriptors, to end the wait. So a mode without descriptors is armed while it runs or has a host, and a date that
  /// has come needs no expiry there.
  @inline(never)
  private func armTimers(for date: UInt64, isAhead: Bool, on loop: RunLoop) {
    timers.endRest()
    let hasPlace = counts.hasWatched
    guard hasPlace || loop.runs(in: self), let set = ports.set else { return }
    let sparesPast = !hasPlace && !isHosted && !isAhead && loop.isCurrent
    let isArmed = timers.arm(for: date, in: set, sparesPast: sparesPast, on: loop)
    if !isArmed, !loop.isCurrent { loop.kick() }  // its sleep may last beyond a new date
  }

  /// The mode is about to get its first descriptor: an expiry is wanted, for its place before that, also of a date that
  /// has come.
  @inline(never)
  func giveTimersTheirPlace(on loop: RunLoop) {
    guard let set = ports.set, let date = timers.unarmedDate() else { return }
    if !timers.arm(for: date, in: set, sparesPast: false, on: loop), !loop.isCurrent { loop.kick() }
  }

  /// For a run whose waits have no end of their own: a timerfd that other code has closed is made again.
  @inline(never)
  func verifyTimers() { if let set = ports.set { timers.verifyPorts(in: set) } }

  /// The same, for a wait that may begin.
  @inline(__always)
  func ensureTimersAreArmed(on loop: RunLoop) { if !timers.isAtRest { armTimers(on: loop) } }
}
