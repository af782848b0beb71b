internal import Synchronization

extension ModePointer {
  /// Rules 32-36: the due timers of the mode are collected and fired in the order of their dates, each checked once
  /// more. [loop]
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
      let isLetGo = timer._withUnsafeGuaranteedRef { $0.fire(index, limit: limit, on: loop) }
      if isLetGo { timer.release() }
    }
    loop.endRuns(insideOf: at)
    while let last = loop.lock.withLock({ loop.state.collectedTimers.takeLast(behind: base) }) { last.release() }
  }
}

// MARK: Firing, on the loop's thread

extension RunLoop.Timer {
  /// The turn of what was collected at the index. True if it was let go.
  fileprivate func fire(_ index: Int, limit: UInt64, on loop: RunLoop) -> Bool {
    guard let fired = loop.lock.withLock({ beginFiring(index, limit: limit, on: loop) }) else { return false }
    let timing = CalloutTiming(counting: .timersFired, on: loop)
    let isLetGo = callOut(index, fired: fired, on: loop)
    timing.end(self, on: loop)
    return isLetGo
  }

  /// The date that fires; nil if its turn has been taken by a nested run, or it is not due here any more. Under the
  /// lock.
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
    // The next timer's expiry may come during this callout; but what is collected still comes first.
    if fired != nil, loop.state.collectedTimers.isLast(index) { collected.mode.armTimers(on: loop) }
    return fired
  }

  /// False if its clock was set back since it was collected: never early, it waits for its date again; and if it has
  /// been given a later date, for which it is armed already. Under the leaf lock.
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

  @inline(__always)
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

  /// The callout of a timer that repeats has returned, or was left.
  @inline(__always)
  func endRepeated(fired: UInt64, on loop: RunLoop) {
    guard isValid else { return firing.store(false, ordering: .relaxed) }
    let isHere = loop.lock.withLock { endFiring(fired: fired, on: loop) }
    // The loop to which its callout has moved it did not arm it while it fired.
    if !isHere, let host = owner, host !== loop { rearm(on: host) }
  }

  /// The end of a one-shot timer that has fired: as `invalidate()`, and lets go of what was collected at the index. It
  /// is most likely in one mode of the loop and nowhere else. False in another process.
  private func invalidate(_ index: Int, on loop: RunLoop) -> Bool {
    guard !isForked else { return false }
    guard validity.exchange(false, ordering: .sequentiallyConsistent) else {
      // In its callout, by that or another thread.
      loop.lock.withLock { loop.state.collectedTimers.letGo(at: index) }
      return true
    }
    let hasLeft = loop.lock.withLock {
      loop.state.collectedTimers.letGo(at: index)
      guard let (mode, token) = unlinkOnly(of: loop) else { return false }
      mode.unregister(self, token: token, on: loop)
      return true
    }
    if !hasLeft { leaveHosts() }
    RunLoop.endClosure(of: self, nil)  // on the loop's own thread
    return true
  }

  /// False if it is in no mode of this loop any more. Under the lock.
  private func endFiring(fired: UInt64, on loop: RunLoop) -> Bool {
    let now = Kernel.now(clock)
    return withLinks { links in
      advance(fired: fired, now: now)
      firing.store(false, ordering: .releasing)
      return arm(links, isAhead: schedule.date > now, on: loop)
    }
  }

  /// It came there in its callout, which is over now.
  private func rearm(on host: RunLoop) {
    host.lock.withLock { withLinks { links in if !isFiring { arm(links, on: host) } } }
  }
}
