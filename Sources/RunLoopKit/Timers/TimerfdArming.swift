// When the timerfds of a mode are armed. Under the lock.

extension ModePointer {
  /// Arms the mode's timerfds for its first timers, if a run, a host or descriptors need the expiry.
  /// - Parameter isAhead: True if the date that has changed is known to lie ahead.
  @inline(__always)
  func armTimers(isAhead: Bool = false, on loop: RunLoop) {
    if useCount == 0, !counts.hasWatched {
      timers.endRest()
    } else if let date = timers.unarmedDate() {
      armTimers(for: date, isAhead: isAhead, on: loop)
    }
    if ports.unwatched != nil { armRetry(on: loop) }
  }

  /// With descriptors in the mode, an expiry takes a place among the ready ports (rule 10), so the timerfds are armed
  /// also while the mode does not run. Without descriptors, an expiry only ends a wait, so the timerfds are armed while
  /// the mode runs or has a host; for a date that has come, a run on this thread needs none.
  @inline(never)
  private func armTimers(for date: UInt64, isAhead: Bool, on loop: RunLoop) {
    timers.endRest()
    let hasPlace = counts.hasWatched
    guard hasPlace || loop.runs(in: self), let set = ports.set else { return }
    let sparesPast = !hasPlace && !isHosted && !isAhead && loop.isCurrent
    let isArmed = timers.arm(for: date, in: set, sparesPast: sparesPast, on: loop)
    if !isArmed, !loop.isCurrent { loop.interrupt() }  // the loop may sleep beyond the new date
  }

  /// Called when the mode is about to get its first descriptor. Arms the timerfds, also for a date that has come, so
  /// that the expiry has its place before that descriptor.
  @inline(never)
  func giveTimersTheirPlace(on loop: RunLoop) {
    guard let set = ports.set, let date = timers.unarmedDate() else { return }
    if !timers.arm(for: date, in: set, sparesPast: false, on: loop), !loop.isCurrent { loop.interrupt() }
  }

  /// Called by a run whose waits have no limit: drops timerfds that other code has closed, so that the next arming
  /// makes others.
  @inline(never)
  func verifyTimers() { if let set = ports.set { timers.verifyPorts(in: set) } }

  /// Arms the timerfds before a possible wait.
  @inline(__always)
  func ensureTimersAreArmed(on loop: RunLoop) { if !timers.isAtRest { armTimers(on: loop) } }
}
