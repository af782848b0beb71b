internal import Synchronization

extension ModePointer {
  /// Collects the due timers of the mode, and fires them in the order of their dates. Each is checked again before it
  /// fires (rules 32-36). - Thread: The loop's own.
  func fireTimers(on loop: RunLoop) {
    let at = loop.innermostRun.state.at
    let base = loop.state.collectedTimers.count
    let limit = Kernel.now()
    loop.lock.lock()
    guard !loop.stops.isQuitting else {
      loop.lock.unlock()
      return loop.holdHostedEvent(.timer, of: self)
    }
    timers.collect(of: self, now: limit, into: &loop.state.collectedTimers)
    let end = loop.state.collectedTimers.count
    loop.lock.unlock()
    if end - base > 1, let counters = loop.counters {
      counters.pointee.add(
        loop.state.collectedTimers.wakesSaved(from: base, since: counters.pointee.lastSleepBegan), to: .wakesSaved)
    }
    for index in base..<end {
      let timer = loop.state.collectedTimers.timer(at: index)
      let isLetGo = timer._withUnsafeGuaranteedRef { $0.fireCollected(index, limit: limit, on: loop) }
      if isLetGo { timer.release() }
    }
    loop.endRuns(insideOf: at)
    while let last = loop.lock.withLock({ loop.state.collectedTimers.takeLast(behind: base) }) { last.release() }
  }
}

// MARK: Firing, on the loop's thread

extension RunLoop.Timer {
  /// Fires the timer that was collected at `index`, if it still is due here. True if the caller has to release it.
  fileprivate func fireCollected(_ index: Int, limit: UInt64, on loop: RunLoop) -> Bool {
    guard let fired = loop.lock.withLock({ beginFiring(index, limit: limit, on: loop) }) else { return false }
    let timing = CalloutTiming(counting: .timersFired, on: loop)
    let isLetGo = callOut(index, fired: fired, on: loop)
    timing.end(self, on: loop)
    return isLetGo
  }

  /// Returns the date that fires. Nil if a nested run has taken the timer's turn, or if it is not due here any more.
  /// Under the lock.
  private func beginFiring(_ index: Int, limit: UInt64, on loop: RunLoop) -> UInt64? {
    guard let collected = loop.state.collectedTimers.take(at: index), isValid, !isFiring else { return nil }
    let fired: UInt64? = withLinks { links in
      guard links.contains(collected.token, in: collected.mode) else { return nil }
      guard
        clock == .suspending
          ? schedule.date <= limit || schedule.date <= Kernel.now() : isStillDue(collected, on: loop)
      else { return nil }
      let date = schedule.date
      firing.store(true, ordering: .relaxed)
      loop.callouts.begin(self)
      clear(links, on: loop)
      return date
    }
    // Arms the timerfds before the last collected timer's callout, because the next timer may expire during it.
    if fired != nil, loop.state.collectedTimers.isLast(index) { collected.mode.armTimers(on: loop) }
    return fired
  }

  /// Whether the timer is still due. It is not if its clock was set back since the loop collected it; this function
  /// then arms it again. A timer that was given a later date is armed for that date already. Under the leaf lock.
  private func isStillDue(_ collected: CollectedTimers.Entry, on loop: RunLoop) -> Bool {
    let now = Kernel.now(clock)
    if schedule.date(on: clock) <= now {
      schedule.settle(now: now)
      return true
    }
    if !collected.mode.timers.isSet(self, token: collected.token) {
      arm(in: collected.mode, token: collected.token, on: loop)
    }
    return false
  }

  private func callOut(_ index: Int, fired: UInt64, on loop: RunLoop) -> Bool {
    __RUNLOOPKIT_IS_CALLING_OUT_TO_A_TIMER__(self)
    if intervalNanoseconds == 0 {
      firing.store(false, ordering: .relaxed)
      loop.callouts.end(on: loop)
      return invalidate(index, on: loop)
    }
    endRepeated(fired: fired, on: loop)
    loop.callouts.end(on: loop)
    return false
  }

  /// Called when the callout of a repeating timer has returned, or was left by an exception or longjmp(3).
  func endRepeated(fired: UInt64, on loop: RunLoop) {
    guard isValid else { return firing.store(false, ordering: .relaxed) }
    let isHere = loop.lock.withLock { endFiring(fired: fired, on: loop) }
    // If the callout has moved the timer to another loop, that loop has not armed it, because the timer was firing.
    if !isHere, let other = owner, other !== loop { rearm(on: other) }
  }

  /// Invalidates a one-shot timer that has fired, and clears the reference of its entry at `index`. Quick if one mode
  /// of this loop is the timer's only one. Returns false in a child of fork(2), and does nothing there.
  private func invalidate(_ index: Int, on loop: RunLoop) -> Bool {
    guard !isForked else { return false }
    guard validity.exchange(false, ordering: .sequentiallyConsistent) else {
      // Invalidated during its callout, by this or another thread.
      loop.lock.withLock { loop.state.collectedTimers.letGo(at: index) }
      return true
    }
    let hasLeft = loop.lock.withLock {
      loop.state.collectedTimers.letGo(at: index)
      guard let (mode, token) = unlinkOnly(of: loop) else { return false }
      mode.unregister(self, token: token, on: loop)
      return true
    }
    if !hasLeft { leaveLoops() }
    RunLoop.endClosure(of: self, nil)  // on the loop's own thread, which may release the closure
    return true
  }

  /// Moves the timer to its next date and arms it. Returns false if it is in no mode of this loop any more. Under the
  /// lock.
  private func endFiring(fired: UInt64, on loop: RunLoop) -> Bool {
    let now = Kernel.now(clock)
    return withLinks { links in
      advance(fired: fired, now: now)
      firing.store(false, ordering: .releasing)
      return arm(links, isAhead: schedule.date > now, on: loop)
    }
  }

  /// Arms the timer, after its callout, in a loop to which the callout has added it.
  private func rearm(on other: RunLoop) {
    other.lock.withLock { withLinks { links in if !isFiring { arm(links, on: other) } } }
  }
}
