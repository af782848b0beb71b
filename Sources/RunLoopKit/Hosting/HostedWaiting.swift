extension RunLoop {
  /// The wait of the host whose call this is: begun in the same callout. An outer one is another level's.
  var ownHostedWait: HostedWait? {
    guard let wait = owner.hosted?.waits.last, wait.parent == innermostRun.state.at else { return nil }
    return wait
  }

  /// From here on wakes and stops are the host's (rules 15, 19), as from the top of a pass, so that nothing of what the
  /// observers of before-waiting, or others meanwhile, ask for is lost. What an earlier preparation of the same wait
  /// has got is kept for `runPendingWork`.
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
      // As a run inside of it would find them.
      state.collectedTimers.putBack()
      innermostRun.muteServed(in: mode, on: self)
    }
  }

  private func pushHostedWait(in mode: ModePointer, on hosted: HostedWaits) {
    let run = innermostRun.isRunning ? innermostRun : nil
    let stopAround = stops.begin(owner.nextRun())
    if stops.isQuitting { stop() }
    let outerWakes = wakes.beginHostedWait(inside: run)
    let outerMode = lock.withLock {
      defer { state.currentMode = mode }
      return state.currentMode
    }
    // The end of each callout is looked at: this one may leave the wait open.
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

  /// Notifies the observers of after-waiting if those of before-waiting were, and ends the innermost wait: the
  /// enclosing run, or nothing, is what wakes and stops reach from then on. A stop by an observer of after-waiting
  /// still counts; a wake of that moment is dropped, as in a run.
  /// - Returns: Whether a wake or a kick, and whether a stop, came for the wait. A wake is passed on to the run around
  ///   it (rule 17).
  func endHostedWait() throws(RunLoopError) -> (isWoken: Bool, isStopped: Bool) {
    wakes.keepForHost()
    // The caller has found it.
    let wait = owner.hosted!.waits.last!
    if wait.phase == .asleep { try tellHosted(.afterWaiting, in: wait.mode) }
    return popHostedWait()
  }

  private func popHostedWait() -> (isWoken: Bool, isStopped: Bool) {
    // As above.
    let wait = removeLastHostedWait()
    let run = innermostRun.isRunning ? innermostRun : nil
    let isStopped = stops.end(wait.stopAround)
    if stops.isQuitting { stop() }
    let isWoken = wakes.endHostedWait(wait.outerWakes, inside: run)
    lock.withLock {
      state.currentMode = wait.outerMode
      wait.outerMode?.ensureTimersAreArmed(on: self)
    }
    if let run, let mode = wait.outerMode {
      demandPollForJobs(run, in: mode)
      // Its kick may have ended the host's sleep.
      if stops.isRequested { wakes.demandPoll(of: run) }
    }
    return (isWoken, isStopped)
  }

  func removeLastHostedWait() -> HostedWait {
    // The caller has seen that there is one.
    let hosted = owner.hosted!
    let wait = hosted.waits.removeLast()
    owner.hasHostedWait = !hosted.waits.isEmpty
    if wait.parent != 0 { callouts.attention.subtract(1, ordering: .sequentiallyConsistent) }
    return wait
  }

  /// Calls the observers for a host, inside whatever callout it calls from. What they have put into the thread's scope
  /// ends here: no run does that for them. If the run around this wait is over, a wait that an observer begins here and
  /// leaves open is ended before this function returns.
  func tellHosted(_ activity: Activity, in mode: ModePointer) throws(RunLoopError) {
    var mark: UInt = 0
    // Set when the loop was made for its thread (`currentLoop`).
    let scope = owner.scopes!.height
    let depth = owner.hosted?.waits.count ?? 0
    let callout = withUnsafeMutablePointer(to: &mark) {
      $0.pointee = StackPlace($0).address
      let callout = beginTelling(at: $0.pointee, scope)
      mode.notify(activity, insideOf: innermostRun.state.at, on: self)
      owner.scopes!.drain(to: scope)  // as above
      return callout
    }
    guard isInThisProcess else { throw .forked }
    while let hosted = owner.hosted, hosted.waits.count > depth { _ = try endHostedWait() }
    if let index = owner.hosted?.waits.indices.last {
      owner.hosted?.waits[index].telling = nil
      owner.hosted?.waits[index].phase = .open
    }
    if callout != 0 { lock.withLock { callouts.restore(callout, on: self) } }
  }

  /// The item in whose callout the host calls; 0: none.
  private func beginTelling(at place: UInt, _ scope: Int) -> UInt {
    setPhase(.telling)
    let (enclosing, callout) =
      innermostRun.isRunning
      ? lock.withLock { (state.callouts.enclosingCount, callouts.enclose(on: self)) } : (0, 0)
    if let index = owner.hosted?.waits.indices.last {
      owner.hosted?.waits[index].telling = Telling(
        place: place, scope: scope, callout: callout, enclosingCallouts: enclosing, timedCallouts: owner.times.count)
    }
    return callout
  }
}
