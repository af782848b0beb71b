internal import Synchronization

extension RunLoop {
  /// Rules 32-36: the due timers of the mode are collected and fired in the order of their dates, each checked once more.
  func fireTimers(in mode: ModePointer) {
    let base = state.pointee.collectedTimers.count
    let limit = Kernel.now()
    let end = lock.withLock { collectTimers(in: mode, limit: limit) }
    for index in base..<end {
      let timer = state.pointee.collectedTimers[index].timer
      guard let fired = lock.withLock({ beginFiring(index, limit: limit) }) else { continue }
      let context = timer.context?.retainForCallout()
      // Again: another thread may have invalidated it before its context was retained.
      if timer.isValid { __RUNLOOPKIT_IS_CALLING_OUT_TO_A_TIMER__(timer) }
      if timer.intervalNanoseconds == 0 { timer.invalidate() }
      if let context { timer.context?.releaseCallout(context) }
      let isHere = lock.withLock { endFiring(timer, fired: fired) }
      // The loop to which its callout has moved it did not arm it while it fired.
      if !isHere, let host = timer.owner, host !== self { host.rearm(timer) }
    }
    removeCollectedTimers(from: base)
  }

  /// Outside the lock: the last reference to a timer may go here.
  private func removeCollectedTimers(from base: Int) {
    while state.pointee.collectedTimers.count > base {
      let last = lock.withLock { state.pointee.collectedTimers.removeLast() }
      withExtendedLifetime(last) {}
    }
  }

  /// Takes the due timers out of the heap. The array's new end.
  private func collectTimers(in mode: ModePointer, limit: UInt64) -> Int {
    mode.pointee.takenExpiry = 0
    let base = state.pointee.collectedTimers.count
    guard let heap = mode.pointee.timerHeap else { return base }
    while let due = heap.takeDue(now: limit) {
      let timer = Unmanaged<Timer>.fromOpaque(due.context).takeUnretainedValue()
      state.pointee.collectedTimers.append(LoopState.CollectedTimer(timer: timer, mode: mode, token: due.token))
    }
    let end = state.pointee.collectedTimers.count
    // A nested run serves the rest of these, behind the ports that are ready by now: an expiry at once.
    if end - base > 1 { mode.pointee.timerPort?.want(limit) }
    return end
  }

  /// The date that fires; nil if the timer's turn has been taken by a nested run, or it is not due here any more.
  private func beginFiring(_ index: Int, limit: UInt64) -> UInt64? {
    let collected = state.pointee.collectedTimers[index]
    let timer = collected.timer
    guard !collected.isDone else { return nil }
    state.pointee.collectedTimers[index].isDone = true
    guard timer.isValid, !timer.isFiring, timer.token(in: collected.mode) == collected.token else { return nil }
    let date = timer.scheduledDate
    guard date <= limit || date <= Kernel.now() else { return nil }
    timer.firing.store(true, ordering: .relaxed)
    disarm(timer)
    // The next timer's expiry may come during this callout; but what is collected still comes first.
    if index == state.pointee.collectedTimers.count - 1 { armTimer(of: collected.mode) }
    return date
  }

  /// False if the timer is in no mode of this loop any more.
  private func endFiring(_ timer: Timer, fired: UInt64) -> Bool {
    guard timer.isValid else {
      timer.firing.store(false, ordering: .relaxed)
      return true
    }
    let now = Kernel.now()
    // In this order: a loop that adds the timer meanwhile arms the new date, or leaves that to `rearm`.
    timer.withSchedule { $0.advance(fired: fired, interval: timer.intervalNanoseconds, now: now) }
    timer.firing.store(false, ordering: .releasing)
    return arm(timer)
  }

  /// A nested run fires what the passes on the stack have collected and not reached (rule 33): back into the heaps. What
  /// has been given another date meanwhile is there already.
  func releaseCollectedTimers() {
    for collected in state.pointee.collectedTimers where !collected.isDone {
      let timer = collected.timer
      guard timer.isValid, !timer.isFiring, timer.token(in: collected.mode) == collected.token else { continue }
      let (date, tolerance) = timer.withSchedule { ($0.date, $0.tolerance) }
      collected.mode.pointee.timerHeap?.arm(token: collected.token, deadline: date, tolerance: tolerance)
    }
  }
}

// MARK: Arming, under the lock

extension RunLoop {
  /// Wants the mode's timerfd to expire for its first timer. At once, also during a callout and while the loop does not run:
  /// its place among the ready ports is the moment of its expiry (rule 10).
  func armTimer(of mode: ModePointer) {
    guard let heap = mode.pointee.timerHeap, let port = mode.pointee.timerPort else { return }
    let wakeAt = heap.wakeAt
    // The expiry that a pass has taken is not asked for again.
    if wakeAt == mode.pointee.takenExpiry { return }
    // The first timer is gone or was moved out: no expiry at its old date (A1), whose place the next timer would take.
    if wakeAt == Time.forever { return port.disarm() }
    if wakeAt > port.armed { port.harvested() }
    port.want(wakeAt)
  }

  /// `soft`: the expiry has come, so that everything whose date has come may fire; else only what must.
  func isTimerDue(in mode: ModePointer, soft: Bool) -> Bool {
    guard let heap = mode.pointee.timerHeap else { return false }
    let date = soft ? heap.first : heap.wakeAt
    guard date != Time.forever, soft || date != mode.pointee.takenExpiry else { return false }
    return date <= Kernel.now()
  }

  /// True if timers are due, which the caller is about to fire.
  func takeExpiry(in mode: ModePointer, soft: Bool) -> Bool {
    guard isTimerDue(in: mode, soft: soft) else { return false }
    mode.pointee.takenExpiry = mode.pointee.timerHeap!.wakeAt
    return true
  }

  /// In every mode of this loop that the timer is in; false if in none.
  @discardableResult
  private func arm(_ timer: Timer) -> Bool {
    let (date, tolerance) = timer.withSchedule { ($0.date, $0.tolerance) }
    return timer.withLinks { links in
      var isHere = false
      for link in links where link.host === self {
        guard let mode = link.mode else { continue }
        mode.pointee.timerHeap?.arm(token: link.token, deadline: date, tolerance: tolerance)
        armTimer(of: mode)
        isHere = true
      }
      return isHere
    }
  }

  private func disarm(_ timer: Timer) {
    timer.withLinks { links in
      for link in links where link.host === self { link.mode?.pointee.timerHeap?.disarm(token: link.token) }
    }
  }

  /// The earliest date among the mode's timers, as reported, firing and collected ones included; nil if it has none.
  func firstDate(in mode: ModePointer) -> UInt64? {
    guard mode.pointee.timerCount > 0, let heap = mode.pointee.timerHeap else { return nil }
    var first = heap.first
    for collected in state.pointee.collectedTimers where collected.timer.isMember(of: mode) {
      first = min(first, collected.timer.scheduledDate)
    }
    // Only a date that was in the past when it was set is reported otherwise than it counts (A14).
    if first > Kernel.now() { return first }
    return mode.pointee.timers.map { $0.withSchedule { ($0.date, $0.reported) } }.min { $0.0 < $1.0 }?.1
  }

  /// A change of date or tolerance by any thread; false if the timer has left this loop.
  func reschedule(_ timer: Timer, _ change: Timer.Change) -> Bool {
    lock.lock()
    guard timer.isMember(ofAnyModeOf: self) else {
      lock.unlock()
      return false
    }
    timer.apply(change)
    if !timer.isFiring { arm(timer) }
    lock.unlock()
    if case .date = change, !isCurrent { wakeWord.kick() }  // rule 18
    return true
  }

  /// The timer came here in its callout, which is over now.
  func rearm(_ timer: Timer) {
    lock.withLock { if !timer.isFiring { arm(timer) } }
  }
}
