// MARK: Waits that end without a pass

extension RunLoop {
  /// Ends the waits of the current callout that are to end (`hasLeft`), and returns true if there was one. Drops a stop
  /// that came for such a wait. If an observer forks here, the function changes nothing more in the child.
  @discardableResult
  func endLeftHostedWaits() -> Bool {
    var hasEnded = false
    while let wait = ownHostedWait, wait.hasLeft, wait.phase != .notifying {
      guard (try? endHostedWait()) != nil else { return true }
      hasEnded = true
    }
    return hasEnded
  }

  /// Called when a callout of the innermost run has returned. Ends the waits that the callout has left open, if it has
  /// run the host's loop. A stop that has come for such a wait goes to the run, for which it may have been meant.
  @inline(never)
  func endHostedWaitsOfCallout() {
    var end: UInt8 = 0
    endHostedWaitsOfCallout(seenFrom: StackPlace(&end))
  }

  /// The callout may be that of an observer that a call of the host is notifying. Then that call goes on, and its wait
  /// stays open.
  @inline(never)
  private func endHostedWaitsOfCallout(seenFrom place: StackPlace) {
    guard isInThisProcess else { return }
    endRuns(leftInCalloutThatEndsAt: place)
    guard innermostRun.isRunning else { return }
    while endNotificationIfLeft(seenFrom: place), ownHostedWait != nil {
      guard let end = try? endHostedWait() else { return }
      if end.isStopped { requestStop() }
    }
  }

  /// Called when a run is over. Ends the waits that were left open in the run, and continues the wait around the run.
  @inline(never)
  func runEndsInHostedWait(_ run: UInt) {
    guard isInThisProcess else { return }
    while let wait = owner.hosted?.waits.last, wait.parent == run { forgetHostedWait(wait) }
    guard let wait = ownHostedWait else { return }
    // The run may have taken interrupts and fetched events, which must end the host's next sleep.
    if wait.phase == .asleep { wakes.goOnSleeping() }
    endLeftHostedWaits()
  }

  /// Removes a wait whose enclosing run is over. That run has put back the mode and the stop word.
  private func forgetHostedWait(_ wait: HostedWait) {
    wakes.keepForHost()
    if wait.phase == .asleep { try? notifyHosted(.afterWaiting, in: wait.mode) }
    _ = removeLastHostedWait()
    _ = wakes.endHostedWait(wait.outerWakes, inside: innermostRun.isRunning ? innermostRun : nil)
  }
}

// MARK: Waits and calls that were left by an exception or longjmp(3) (decision 0041)

extension RunLoop {
  /// Ends the runs and notifications that were left, as seen from a host's call at `place` on the stack.
  /// - Thread: The loop's own.
  @inline(never)
  func endLeftHosting(seenFrom place: StackPlace) {
    _ = isInRun(seenFrom: place)
    if endNotificationIfLeft(seenFrom: place) { endLeftHostedWaits() }
  }

  /// Ends the notification of observers for `ownHostedWait`, if an exception or longjmp(3) has left the host's call
  /// that made it. The wait stays open: the host may continue it. Returns false if the call is still on the stack.
  @discardableResult
  private func endNotificationIfLeft(seenFrom place: StackPlace) -> Bool {
    guard let wait = ownHostedWait, wait.phase == .notifying, let notification = wait.notification else { return true }
    guard place.sees(left: notification.place) else { return false }
    endLeftNotification(notification, of: wait.mode)
    setPhase(.open)
    return true
  }

  /// Called when the innermost run was left. Ends the waits in its callouts, and notifies no observers. A stop that has
  /// come for such a wait goes to the run. - Thread: The loop's own.
  @inline(never)
  func endHostedWaitsOfLeftRun() {
    while let wait = ownHostedWait {
      if let notification = wait.notification { endLeftNotification(notification, of: wait.mode) }
      _ = removeLastHostedWait()
      _ = stops.endLeft(wait.stopAround)
      wakes.keepForHost()
      wakes.endLeftHostedWait(wait.outerWakes, inside: innermostRun)
      lock.withLock { state.currentMode = wait.outerMode }
    }
  }

  private func endLeftNotification(_ notification: HostNotification, of mode: ModePointer) {
    if let index = owner.hosted?.waits.indices.last { owner.hosted?.waits[index].notification = nil }
    let observers = lock.withLock {
      owner.times.endLeft(behind: notification.timedCallouts)
      callouts.endLeft(behind: notification.enclosingCallouts, notification.callout, on: self)
      return mode.leftObservers(on: self)
    }
    for observer in observers { observer.isLeft() }
    owner.scopes!.drain(to: notification.scope)  // as in `notifyHosted`
    callouts.haveBeenLeft(on: self)
  }
}
