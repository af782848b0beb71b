internal import Synchronization

extension RunLoop {
  /// Rules 32-36: the due timers of the mode are collected and fired in the order of their dates, each checked once more.
  func fireTimers(in mode: ModePointer) {
    let base = state.collectedTimers.count
    let limit = Kernel.now()
    let end = lock.withLock { collectTimers(in: mode, limit: limit) }
    for index in base..<end {
      state.collectedTimers[index].timer._withUnsafeGuaranteedRef { fire($0, index, limit: limit) }
    }
    removeCollectedTimers(from: base)
  }

  private func fire(_ timer: Timer, _ index: Int, limit: UInt64) {
    guard let fired = lock.withLock({ beginFiring(timer, index, limit: limit) }) else { return }
    let began = countAndTime(.timersFired)
    callOut(timer, fired: fired)
    if began != 0 { calloutHasTaken(since: began, timer) }
  }

  @inline(__always)
  private func callOut(_ timer: Timer, fired: UInt64) {
    let context = timer.context?.retainForCallout()
    // Again: another thread may have invalidated it before its context was retained.
    if timer.isValid { __RUNLOOPKIT_IS_CALLING_OUT_TO_A_TIMER__(timer) }
    if timer.intervalNanoseconds == 0 { return end(timer, context) }
    if let context { timer.context?.releaseCallout(context) }
    if timer.isValid {
      let isHere = lock.withLock { endFiring(timer, fired: fired) }
      // The loop to which its callout has moved it did not arm it while it fired.
      if !isHere, let host = timer.owner, host !== self { host.rearm(timer) }
    } else {
      timer.firing.store(false, ordering: .relaxed)
    }
    endCallout()
  }

  /// It has fired for the only time. What its context is told belongs to the callout; without one nothing is left of it.
  @inline(__always)
  private func end(_ timer: Timer, _ context: Context.Info??) {
    if timer.context == nil {
      timer.firing.store(false, ordering: .relaxed)
      endCallout()
      timer.invalidate(from: self)
    } else {
      timer.invalidate(from: self)
      if let context { timer.context?.releaseCallout(context) }
      timer.firing.store(false, ordering: .relaxed)
      endCallout()
    }
  }

  /// Outside the lock: the last reference to a timer may go here.
  private func removeCollectedTimers(from base: Int) {
    while state.collectedTimers.count > base {
      let last = lock.withLock { state.collectedTimers.removeLast() }
      last.timer.release()
    }
  }

  /// Takes the due timers out of the heap. The array's new end.
  private func collectTimers(in mode: ModePointer, limit: UInt64) -> Int {
    forgetExpiries(of: mode)
    let base = state.collectedTimers.count
    if let heap = mode.pointee.timerHeap { collectTimers(of: heap, in: mode, limit: limit) }
    if mode.pointee.otherClocks != nil { collectOtherTimers(in: mode, from: base) }
    let end = state.collectedTimers.count
    // A nested run serves the rest of these, behind the ports that are ready by now: an expiry at once.
    if end - base > 1 {
      wantExpiryNow(of: mode, limit)
      if let counters {
        counters.pointee.add(wakesSaved(from: base, since: counters.pointee.lastSleepBegan), to: .wakesSaved)
      }
    }
    return end
  }

  @inline(__always)
  func collectTimers(of heap: TimerHeap, in mode: ModePointer, limit: UInt64) {
    withUnsafeMutablePointer(to: &state.collectedTimers) { collected in
      var collection = TimerCollection(timers: collected, mode: mode)
      heap.takeAllDue(now: limit, for: &collection, collectTimer)
    }
  }

  /// Among what one expiry serves: the dates that only tolerant timers have, but for the one that would have been a wake anyway.
  /// All that was due when the loop fell asleep counts as one date: it would have been served by one look. So nothing is saved
  /// by a loop that was late; `sleep` is never if it has not slept at all.
  private func wakesSaved(from base: Int, since sleep: UInt64) -> UInt64 {
    if sleep == Time.forever { return 0 }
    var exact: Set<UInt64> = [], tolerant: Set<UInt64> = []
    for collected in state.collectedTimers[base...] {
      let schedule = collected.timer._withUnsafeGuaranteedRef { timer in timer.withSchedule { $0 } }
      let date = max(schedule.date, sleep)
      if schedule.tolerance > 0 { tolerant.insert(date) } else { exact.insert(date) }
    }
    let saved = tolerant.subtracting(exact).count
    return UInt64(exact.isEmpty ? max(saved, 1) - 1 : saved)
  }

  private func wantExpiryNow(of mode: ModePointer, _ now: UInt64) {
    // One that cannot be armed has been noted when its timers were.
    if let port = mode.pointee.timerPort {
      port.want(now)
    } else if let other = mode.pointee.otherClocks?.first {
      other.port.want(Kernel.now(other.clock))
    }
  }

  /// The date that fires; nil if the timer's turn has been taken by a nested run, or it is not due here any more.
  private func beginFiring(_ timer: Timer, _ index: Int, limit: UInt64) -> UInt64? {
    let collected = state.collectedTimers[index]
    state.collectedTimers[index].token = 0
    guard collected.token != 0, timer.isValid, !timer.isFiring else { return nil }
    let fired: UInt64? = timer.withLinks { links in
      guard links.contains(collected.token, in: collected.mode) else { return nil }
      guard
        timer.clock == .suspending
          ? timer.schedule.date <= limit || timer.schedule.date <= Kernel.now() : isStillDue(timer, collected)
      else { return nil }
      let date = timer.schedule.date
      timer.firing.store(true, ordering: .relaxed)
      beginCallout(timer)
      disarm(timer, links)
      return date
    }
    // The next timer's expiry may come during this callout; but what is collected still comes first.
    if fired != nil, index == state.collectedTimers.count - 1 { armTimer(of: collected.mode) }
    return fired
  }

  /// False if the timer is in no mode of this loop any more.
  private func endFiring(_ timer: Timer, fired: UInt64) -> Bool {
    let now = Kernel.now(timer.clock)
    return timer.withLinks { links in
      timer.advance(fired: fired, now: now)
      timer.firing.store(false, ordering: .releasing)
      return arm(timer, links)
    }
  }

  /// A nested run fires what the passes on the stack have collected and not reached (rule 33): back into the heaps. What
  /// has been given another date meanwhile is there already.
  func releaseCollectedTimers() {
    for collected in state.collectedTimers where collected.token != 0 {
      let timer = collected.timer.takeUnretainedValue()
      guard timer.isValid, !timer.isFiring, timer.token(in: collected.mode) == collected.token else { continue }
      guard let heap = collected.mode.pointee.heap(of: timer.clock), !heap.isArmed(token: collected.token) else {
        continue
      }
      let (date, tolerance) = timer.withSchedule { ($0.date(on: timer.clock), $0.tolerance) }
      heap.arm(token: collected.token, deadline: date, tolerance: tolerance)
    }
  }
}

/// Where the heap's due timers go.
private struct TimerCollection {
  let timers: UnsafeMutablePointer<ContiguousArray<LoopState.CollectedTimer>>
  let mode: ModePointer
}

private func collectTimer(_ collection: UnsafeMutableRawPointer, _ timer: UnsafeMutableRawPointer, _ token: UInt64) {
  let collection = collection.assumingMemoryBound(to: TimerCollection.self).pointee
  // A context of the heap, whose members are timers, retained by it; under the lock that they leave it by.
  let timer = Unmanaged<RunLoop.Timer>.fromOpaque(timer).retain()
  collection.timers.pointee.append(
    LoopState.CollectedTimer(timer: timer, mode: collection.mode, token: token))
}

// MARK: Arming, under the lock

extension RunLoop {
  /// Wants the mode's timerfd to expire for its first timer. At once, also during a callout and while the loop does not run:
  /// its place among the ready ports is the moment of its expiry (rule 10).
  func armTimer(of mode: ModePointer) {
    if mode.pointee.otherClocks != nil { armOtherClocks(of: mode) }
    guard let heap = mode.pointee.timerHeap, let port = mode.pointee.timerPort else { return }
    if !mode.pointee.timerExpiry.arm(port, for: heap) { noteDeafTimers(in: mode) }
    if mode.pointee.unheard != nil { _ = hasArmedRetry(of: mode) }  // `prepare`, to whom it matters, asks again
  }

  /// `soft` as in `TimerExpiry`.
  func isTimerDue(in mode: ModePointer, soft: Bool) -> Bool {
    if isOwnTimerDue(in: mode, soft: soft) { return true }
    return mode.pointee.otherClocks != nil && mode.pointee.otherClocks!.contains { $0.isDue(soft: soft) }
  }

  /// On the suspending clock.
  private func isOwnTimerDue(in mode: ModePointer, soft: Bool) -> Bool {
    guard let heap = mode.pointee.timerHeap else { return false }
    return mode.pointee.timerExpiry.isDue(heap, on: .suspending, soft: soft)
  }

  /// True if timers are due, which the caller is about to fire.
  func takeExpiry(in mode: ModePointer, soft: Bool) -> Bool {
    let isOtherDue = mode.pointee.otherClocks != nil && takeOtherExpiries(of: mode, soft: soft)
    guard let heap = mode.pointee.timerHeap, mode.pointee.timerExpiry.take(heap, on: .suspending, soft: soft) else {
      return isOtherDue
    }
    return true
  }

  /// In every mode of this loop that the timer is in; false if in none. Under the leaf lock.
  @discardableResult
  private func arm(_ timer: Timer, _ links: ItemLinks) -> Bool {
    if let (mode, token) = links.only(of: self) {
      arm(timer, in: mode, token)
      return true
    }
    var isHere = false
    links.forEach { link in
      guard link.host === self, let mode = link.mode else { return }
      arm(timer, in: mode, link.token)
      isHere = true
    }
    return isHere
  }

  func arm(_ timer: Timer, in mode: ModePointer, _ token: UInt64) {
    let schedule = timer.schedule
    let date = schedule.date(on: timer.clock)
    // The timer is a member: its heap was made when it was registered.
    mode.pointee.heap(of: timer.clock)!.arm(token: token, deadline: date, tolerance: schedule.tolerance)
    armTimer(of: mode)
  }

  /// Another tolerance, and the same place among equal dates, in every mode of this loop that the timer is in. A collected
  /// timer is told when it goes back into the heap.
  private func spread(_ timer: Timer, _ links: ItemLinks) {
    links.forEach { link in
      guard link.host === self, let mode = link.mode else { return }
      mode.pointee.heap(of: timer.clock)?.setTolerance(timer.schedule.tolerance, token: link.token)
      armTimer(of: mode)
    }
  }

  /// In every mode of this loop that the timer is in.
  private func disarm(_ timer: Timer, _ links: ItemLinks) {
    if let (mode, token) = links.only(of: self) {
      // As in `arm`.
      return mode.pointee.heap(of: timer.clock)!.disarm(token: token)
    }
    links.forEach { if $0.host === self { $0.mode?.pointee.heap(of: timer.clock)?.disarm(token: $0.token) } }
  }

  /// The earliest date among the mode's timers, as reported, firing and collected ones included; nil if it has none.
  func firstDate(in mode: ModePointer) -> UInt64? {
    if mode.pointee.otherClocks != nil { return firstDateOfAllClocks(in: mode) }
    guard mode.pointee.timerCount > 0, let heap = mode.pointee.timerHeap else { return nil }
    var first = heap.first
    for collected in state.collectedTimers {
      let timer = collected.timer.takeUnretainedValue()
      if timer.isMember(of: mode) { first = min(first, timer.withSchedule { $0.date }) }
    }
    // Only a date that was in the past when it was set is reported otherwise than it counts (A14).
    if first > kernel.now() { return first }
    return mode.pointee.timers.map { $0.withSchedule { ($0.date, $0.reported) } }.min { $0.0 < $1.0 }?.1
  }

  /// A change of date or tolerance by any thread; false if the timer has left this loop.
  func reschedule(_ timer: Timer, _ change: Timer.Change) -> Bool {
    let now = kernel.now(timer.clock)
    let isHere = lock.withLock {
      timer.withLinks { links in
        guard links.only(of: self) != nil || links.contains(where: { $0.host === self && $0.mode != nil }) else {
          return false
        }
        timer.apply(change, now: now)
        if timer.isFiring { return true }
        if case .tolerance = change { spread(timer, links) } else { arm(timer, links) }
        return true
      }
    }
    if isHere, case .date(_, isToldOf: true) = change, !isCurrent {  // rule 18
      hasMovedDate.store(true, ordering: .relaxed)
      wakeWord.kick()
    }
    return isHere
  }

  /// The timer came here in its callout, which is over now.
  func rearm(_ timer: Timer) {
    lock.withLock { timer.withLinks { links in if !timer.isFiring { arm(timer, links) } } }
  }
}
