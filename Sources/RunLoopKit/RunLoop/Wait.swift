internal import RunLoopLibc
internal import Synchronization

/// Step (i) of the pass: waits for one event, or looks for one.
extension RunLoop {
  /// A wake keeps the wait from blocking and is taken by the look that follows; it is no event (rule 10). Edges without
  /// a truth behind them, of the wakeup port, the timer and the main queue, are waited through.
  func awaitEvent(
    _ activation: Activation, isPolling: Bool, deadline: UInt64
  ) -> PassEvent {
    guard isInThisProcess else { return .none }
    let mode = activation.mode
    var posted = wakes.takeKept(for: activation)
    var event =
      mode.messages.hasReady ? takeTurn(in: mode) : takeHeldOrFetchedEvent(in: mode)
    let hasLooked = event == nil  // each look has taken what was posted
    while event == nil {
      let mayBlock =
        !isPolling && posted == .none && !canServeMainQueue(activation) && !mode.messages.hasReady
      let found = (mayBlock ? sleep(in: mode, until: deadline) : nil) ?? look(in: mode)
      posted = max(posted, wakes.word.take())
      if found < 0 {
        if owner.waitFailure != 0 {
          event = .failed
          break
        }
        guard mode.messages.hasReady else { break }
        event = mode.takeReadyPort(on: self)
        if event != nil || isPolling || posted != .none { break }
        continue  // another loop has taken the message
      }
      event =
        (found > 0 ? mode.takeFetchedEvent(on: self) : mode.takeEvent(on: self))
        ?? takeHiddenEvent(in: mode, activation)
      if event != nil || isPolling || posted != .none { break }
      if deadline != Time.forever && deadline <= Kernel.now() { break }
      count(.spuriousWakes)
    }
    if !hasLooked { posted = max(posted, wakes.word.take()) }
    wakes.endWait(of: activation)  // (j)
    if posted != .none {
      var isExpiry = false
      if case .timer? = event { isExpiry = true }
      wakes.settle(posted, of: activation, isExpiry: isExpiry)
    }
    return event ?? .none
  }

  /// At most one system call, which does not wait. How many events that has found; -1 if not even that is needed, or if
  /// the wait has failed for good (`waitFailure`).
  @inline(__always)
  private func look(in mode: ModePointer) -> Int32 {
    if canSkipLook(in: mode) { return -1 }
    owner.skippedLooks = 0
    // A run begins with making the set of its mode, or finds one (`Running`).
    let found = mode.ports.set!.look()
    return found >= 0 ? found : hasFailedForGood(found, in: mode) ? -1 : 0
  }

  /// The same, until there is an event; nil: something has been posted.
  @inline(never)
  private func sleep(in mode: ModePointer, until deadline: UInt64) -> Int32? {
    let limit = beginSleep(in: mode, until: deadline)
    if limit == 0 { return nil }
    owner.skippedLooks = 0
    if let counters { counters.pointee.sleepBegins() }
    // As above.
    let found = mode.ports.set!.blockingWait(until: limit)
    if let counters { counters.pointee.sleepEnds() }
    return found >= 0 ? found : hasFailedForGood(found, in: mode) ? -1 : 0
  }

  /// A wait that a signal ends, or that wants memory, has ended early, and is begun again. Somebody has closed the
  /// set's descriptor, or one fails again and again: there will be no other answer.
  @inline(never)
  func hasFailedForGood(_ status: Int32, in mode: ModePointer) -> Bool {
    if status == -EINTR { return false }
    let now = Kernel.now()
    if now > Time.add(owner.failedWaitAt, OwnerState.failuresLieApart) { owner.failedWaits = 0 }
    owner.failedWaitAt = now
    owner.failedWaits += 1
    let isLasting = [-EBADF, -EINVAL, -EFAULT, -EPERM].contains(status)
    guard isLasting || owner.failedWaits > OwnerState.mostFailedWaits else { return false }
    owner.failedWaits = 0
    owner.waitFailure = -status
    lock.withLock { mode.ports.waitFailure = -status }
    return true
  }

  /// Until when the kernel may be waited for: earlier than the deadline if it may not tell of everything. 0: something
  /// has been posted.
  @inline(__always)
  private func beginSleep(in mode: ModePointer, until deadline: UInt64) -> UInt64 {
    var limit = deadline
    if mode.counts.hasAwaited {
      lock.lock()
      mode.armTimers(on: self)
      if mode.ports.unheard != nil { limit = max(1, min(deadline, mode.waitLimit)) }
      lock.unlock()
    }
    if wantedSpin.load(ordering: .relaxed) != 0, spin(until: firstDate(of: mode, before: deadline)) { return 0 }
    return wakes.word.beginWait() ? limit : 0
  }

  @inline(never)
  private func firstDate(of mode: ModePointer, before deadline: UInt64) -> UInt64 {
    lock.withLock { min(deadline, mode.timers.wakeAt) }
  }

  /// A mode without descriptors hears from the kernel of its timers only, whose truth is the clock: as long as none is
  /// due, a look would find nothing. Not for ever, so that a loop that spins stays visible.
  @inline(__always)
  private func canSkipLook(in mode: ModePointer) -> Bool {
    guard owner.skippedLooks < OwnerState.mostSkippedLooks else { return false }
    if isMain || mode.counts.hasAwaited {
      guard lock.withLock({ hasNothingToHear(in: mode) }) else { return false }
    }
    owner.skippedLooks += 1
    return true
  }

  private func hasNothingToHear(in mode: ModePointer) -> Bool {
    mode.descriptorCount == 0 && !mode.ports.hasMainQueueHint && !mode.timers.isDue(soft: true)
  }

  /// Whose turn it is if a port is marked: a fetched event's after a message, else the port's. [loop]
  @inline(never)
  private func takeTurn(in mode: ModePointer) -> PassEvent? {
    guard mode.messages.takeKernelsTurn() else {
      return mode.takeReadyPort(on: self) ?? takeHeldOrFetchedEvent(in: mode)
    }
    if let event = takeHeldOrFetchedEvent(in: mode) { return event }
    // So that the wait may block if nothing is left.
    lock.withLock { mode.messages.dropEmpty() }
    return nil
  }

  /// What a hosted loop has found before its pass comes first.
  @inline(__always)
  private func takeHeldOrFetchedEvent(in mode: ModePointer) -> PassEvent? {
    owner.takeHeldEvent(for: mode) ?? mode.takeEvent(on: self)
  }

  /// What the kernel's answer does not show: a timer whose expiry was harvested by another mode or has not come through
  /// yet, a port with a message, and the main queue, which comes after all ports and timers (A8).
  @inline(__always)
  private func takeHiddenEvent(
    in mode: ModePointer, _ activation: Activation
  ) -> PassEvent? {
    if mode.counts.hasAwaited {
      lock.lock()
      let isDue = mode.timers.takeExpiry(soft: false)
      let unheard = !isDue && mode.ports.unheard != nil ? mode.takeUnheard() : nil
      lock.unlock()
      if isDue { return .timer }
      if let unheard { return unheard }
    }
    if mode.messages.hasReady, let event = mode.takeReadyPort(on: self) { return event }
    if canServeMainQueue(activation) {
      owner.isMainQueuePending = false
      if MainQueuePort.take() { return .mainQueue }
    }
    return nil
  }

  private func canServeMainQueue(_ activation: Activation) -> Bool {
    owner.isMainQueuePending && activation.servesMainQueue
  }
}
