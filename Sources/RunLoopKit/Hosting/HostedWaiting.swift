extension RunLoop {
  /// The wait of the host that is calling: the innermost wait, if it was begun in the same callout; else nil.
  var ownHostedWait: HostedWait? {
    guard let wait = owner.hosted?.waits.last, wait.parent == innermostRun.state.at else { return nil }
    return wait
  }

  /// Begins the host's wait, or continues it. Until the wait ends, wakes and stops go to the host (rules 15, 19), as
  /// they go to a run from the top of its pass. So a wake or a stop that comes before the host sleeps is not lost, even
  /// from an observer of before-waiting. Wakes and stops that came after an earlier `prepareToWait` of the same wait
  /// are kept for `runPendingWork`.
  func beginHostedWait(in mode: ModePointer, for host: ObjectIdentifier?) {
    let hosted = hostedWaits
    if ownHostedWait == nil {
      pushHostedWait(in: mode, on: hosted)
    } else {
      wakes.continueHostedWait()
    }
    hosted.waits[hosted.waits.count - 1].host = host
    guard innermostRun.isRunning else { return }
    lock.withLock {
      // Prepares timers and descriptor sources as for a nested run.
      state.collectedTimers.putBack()
      innermostRun.muteServed(in: mode, on: self)
    }
  }

  private func pushHostedWait(in mode: ModePointer, on hosted: HostedWaits) {
    let run = innermostRun.isRunning ? innermostRun : nil
    let stopAround = stops.begin(owner.nextRun())
    if stops.isQuitting { requestStop() }
    let outerWakes = wakes.beginHostedWait(inside: run)
    let outerMode = lock.withLock {
      defer { state.currentMode = mode }
      return state.currentMode
    }
    // Makes the end of each callout check for open waits (`CalloutRecord.end`).
    if run != nil { callouts.attention.add(1, ordering: .sequentiallyConsistent) }
    hosted.waits.append(
      HostedWait(
        mode: mode, parent: innermostRun.state.at, outerMode: outerMode, stopAround: stopAround, outerWakes: outerWakes)
    )
    owner.hasHostedWait = true
  }

  func setPhase(_ phase: HostedWait.Phase) {
    guard let hosted = owner.hosted, !hosted.waits.isEmpty else { return }
    hosted.waits[hosted.waits.count - 1].phase = phase
  }

  /// Ends the innermost wait. Before that, notifies the observers of after-waiting if those of before-waiting were
  /// notified. A stop by an observer of after-waiting still counts for the wait; a wake by that observer is dropped, as
  /// in a run. Afterwards wakes and stops go to the enclosing run, if there is one.
  /// - Returns: Whether a wake or an interrupt, and whether a stop, came for the wait. A wake is passed on to the
  ///   enclosing run (rule 17).
  func endHostedWait() throws(RunLoopError) -> (isWoken: Bool, isStopped: Bool) {
    wakes.keepForHost()
    // There is a wait: the caller has found one.
    let wait = owner.hosted!.waits.last!
    if wait.phase == .asleep { try notifyHosted(.afterWaiting, in: wait.mode) }
    return popHostedWait()
  }

  private func popHostedWait() -> (isWoken: Bool, isStopped: Bool) {
    let wait = removeLastHostedWait()
    let run = innermostRun.isRunning ? innermostRun : nil
    let isStopped = stops.end(wait.stopAround)
    if stops.isQuitting { requestStop() }
    let isWoken = wakes.endHostedWait(wait.outerWakes, inside: run)
    lock.withLock {
      state.currentMode = wait.outerMode
      wait.outerMode?.ensureTimersAreArmed(on: self)
    }
    if let run, let mode = wait.outerMode {
      demandPollForJobs(run, in: mode)
      // A stop of the enclosing run may have interrupted only the host's sleep, so the run must poll again.
      if stops.isRequested { wakes.demandPoll(of: run) }
    }
    return (isWoken, isStopped)
  }

  func removeLastHostedWait() -> HostedWait {
    // There is a wait: the caller has found one.
    let hosted = owner.hosted!
    let wait = hosted.waits.removeLast()
    owner.hasHostedWait = !hosted.waits.isEmpty
    if wait.parent != 0 { callouts.attention.subtract(1, ordering: .sequentiallyConsistent) }
    return wait
  }

  /// Notifies observers for a call of the host, which may come from inside a callout. Drains what the observers have
  /// put into the thread's scopes, since no run does that here. If an observer begins a wait and leaves it open, that
  /// wait ends before this function returns, even if the enclosing run is over.
  func notifyHosted(_ activity: Activity, in mode: ModePointer) throws(RunLoopError) {
    var mark: UInt = 0
    // `currentLoop` has set the scopes when it made the loop for its thread.
    let scope = owner.scopes!.height
    let depth = owner.hosted?.waits.count ?? 0
    let callout = withUnsafeMutablePointer(to: &mark) {
      $0.pointee = StackPlace($0).address
      let callout = beginNotification(at: $0.pointee, scope)
      mode.notify(activity, insideOf: innermostRun.state.at, on: self)
      owner.scopes!.drain(to: scope)  // set, see above
      return callout
    }
    guard isInThisProcess else { throw .forked }
    while let hosted = owner.hosted, hosted.waits.count > depth { _ = try endHostedWait() }
    if let index = owner.hosted?.waits.indices.last {
      owner.hosted?.waits[index].notification = nil
      owner.hosted?.waits[index].phase = .open
    }
    if callout != 0 { lock.withLock { callouts.restore(callout, on: self) } }
  }

  /// Returns the item whose callout has made the host's call, or 0 if no callout has made it.
  private func beginNotification(at place: UInt, _ scope: Int) -> UInt {
    setPhase(.notifying)
    let (enclosing, callout) =
      innermostRun.isRunning
      ? lock.withLock { (state.callouts.enclosingCount, callouts.enclose(on: self)) } : (0, 0)
    if let index = owner.hosted?.waits.indices.last {
      owner.hosted?.waits[index].notification = HostNotification(
        place: place, scope: scope, callout: callout, enclosingCallouts: enclosing, timedCallouts: owner.times.count)
    }
    return callout
  }
}
