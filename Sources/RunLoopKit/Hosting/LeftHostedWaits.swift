// MARK: Waits without a pass

extension RunLoop {
  /// The waits of hosts that have left, also in callouts of the caller's, are over: true if there was one. What has
  /// come for them is dropped, as by a loop that does not run. An observer here may fork, and the child is left as it
  /// is.
  @discardableResult
  func endLeftHostedWaits() -> Bool {
    var hasEnded = false
    while let wait = ownHostedWait, wait.hasLeft, wait.phase != .telling {
      guard (try? endHostedWait()) != nil else { return true }
      hasEnded = true
    }
    return hasEnded
  }

  /// A callout of the innermost run has returned, and so has the host's loop that it has run. Nobody can tell for whom
  /// the stop was that has come since: the run has it.
  @inline(never)
  func endHostedWaitsOfCallout() {
    var end: UInt8 = 0
    endHostedWaitsOfCallout(seenFrom: StackPlace(&end))
  }

  /// It may have been that of an observer, which a call of a host notifies: that call goes on.
  @inline(never)
  private func endHostedWaitsOfCallout(seenFrom place: StackPlace) {
    guard isInThisProcess else { return }
    endRuns(leftInCalloutThatEndsAt: place)
    guard innermostRun.isRunning else { return }
    while endLeftTelling(seenFrom: place), ownHostedWait != nil {
      guard let end = try? endHostedWait() else { return }
      if end.isStopped { stop() }
    }
  }

  /// A run is over that was begun inside of a wait, or in whose course one was left open by what is no callout.
  @inline(never)
  func runEndsInHostedWait(_ run: UInt) {
    guard isInThisProcess else { return }
    while let wait = owner.hosted?.waits.last, wait.parent == run { forgetHostedWait(wait) }
    guard let wait = ownHostedWait else { return }
    // It may have taken kicks and events, and nobody looks after them before the host sleeps.
    if wait.phase == .asleep { wakes.goOnSleeping() }
    endLeftHostedWaits()
  }

  /// The run around it is over, which has put back what was before.
  private func forgetHostedWait(_ wait: HostedWait) {
    wakes.keepForHost()
    if wait.phase == .asleep { try? tellHosted(.afterWaiting, in: wait.mode) }
    _ = removeLastHostedWait()
    _ = wakes.endHostedWait(wait.outerWakes, inside: innermostRun.isRunning ? innermostRun : nil)
  }
}

// MARK: Waits and calls that were left by an exception or longjmp(3) (decision 0041)

extension RunLoop {
  /// What is over as a host's call sees it, which lies there on the stack. [loop]
  @inline(never)
  func endLeftHosting(seenFrom place: StackPlace) {
    _ = isInRun(seenFrom: place)
    if endLeftTelling(seenFrom: place) { endLeftHostedWaits() }
  }

  /// Ends a call of the host that has notified observers of the own wait, if it was left. The host may go on, or have
  /// left from inside of an observer. False if the call is on the stack.
  @discardableResult
  private func endLeftTelling(seenFrom place: StackPlace) -> Bool {
    guard let wait = ownHostedWait, wait.phase == .telling, let telling = wait.telling else { return true }
    guard place.sees(left: telling.place) else { return false }
    endLeftNotification(telling, of: wait.mode)
    setPhase(.open)
    return true
  }

  /// The innermost run was left, and with it the waits in its callouts, of which observers hear nothing. A stop that
  /// has come for one is the run's. [loop]
  @inline(never)
  func endHostedWaitsOfLeftRun() {
    while let wait = ownHostedWait {
      if let telling = wait.telling { endLeftNotification(telling, of: wait.mode) }
      _ = removeLastHostedWait()
      _ = stops.endLeft(wait.stopAround)
      wakes.keepForHost()
      wakes.endLeftHostedWait(wait.outerWakes, inside: innermostRun)
      lock.withLock { state.currentMode = wait.outerMode }
    }
  }

  private func endLeftNotification(_ telling: Telling, of mode: ModePointer) {
    if let index = owner.hosted?.waits.indices.last { owner.hosted?.waits[index].telling = nil }
    let observers = lock.withLock {
      owner.times.endLeft(behind: telling.timedCallouts)
      callouts.endLeft(behind: telling.enclosingCallouts, telling.callout, on: self)
      return mode.leftObservers(on: self)
    }
    for observer in observers { observer.isLeft() }
    owner.scopes!.drain(to: telling.scope)  // as in `tellHosted`
    callouts.haveBeenLeft(on: self)
  }
}
