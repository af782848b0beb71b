/// A wait of a host for the loop: from `prepareToWait` to `runPendingWork`, or to its end without one. [loop]
///
/// It is a frame like a run's, in one mode. It has no place on the stack, since the host sleeps after
/// `prepareToWait` has returned; so it ends at the latest when the callout in which it was begun returns.
struct HostedWait {
  enum Phase {
    /// `prepareToWait` has begun, or has found work.
    case open
    /// Observers are being notified by a call of the host.
    case telling
    /// `prepareToWait` has notified before-waiting, and after-waiting has not been notified since.
    case asleep
  }

  let mode: ModePointer
  /// Where the run lies in one of whose callouts the host waits; 0: outside of all runs.
  let parent: UInt
  /// What the wait was begun for; nil: a call without a `LoopHosting`.
  var host: ObjectIdentifier?
  var phase = Phase.open
  /// Its host has left, from inside of a callout: the wait ends when that has returned.
  var hasLeft = false
  /// While observers are being notified.
  var telling: Telling?

  /// The current mode before.
  let outerMode: ModePointer?
  /// What was asked of the run around it (rule 20).
  let stopAround: UInt64
  /// Of the wait around it: one in whose course the host runs the loop itself.
  let outerWakes: Wakes.OfHost
}

/// What is put back if an exception or longjmp(3) leaves an observer that a host's call notifies (decision 0041).
struct Telling {
  /// Where the call lies on the stack.
  let place: UInt
  /// Where the scope of the observers begins in the thread's scopes.
  let scope: Int
  /// The item in whose callout the host calls; 0: none.
  let callout: UInt
  /// How many there were on the stack then.
  let enclosingCallouts: Int
  let timedCallouts: Int
}

/// What a loop has that has a host: the waits that are open, the innermost one last, and what they have found. [loop]
final class HostedWaits {
  fileprivate(set) var waits: ContiguousArray<HostedWait> = []
  /// Of several modes at most one each.
  private var events: [(mode: ModePointer, event: PassEvent)] = []
  /// How a run sleeps in the host, and in which.
  var sleep: (host: ObjectIdentifier, body: HostSleep)?
  /// The passes that hosts have asked for, the innermost one last. One may have been left that the loop has not noticed
  /// yet.
  private var passes: [Pass] = []

  private struct Pass {
    /// As that of a wait.
    let parent: UInt
    /// A stop has reached its run, and that has ended without asking.
    var isStopped = false
  }

  /// A host asks for a pass inside of `parent`: those that it has asked for there before were left.
  func beginPass(inside parent: UInt) {
    forgetPass(inside: parent)
    passes.append(Pass(parent: parent))
  }

  /// The run inside of `parent` was left: if a host has asked for it, the pass is left, too.
  func forgetPass(inside parent: UInt) {
    if let left = passes.firstIndex(where: { $0.parent == parent }) { passes.removeSubrange(left...) }
  }

  /// Whether it was stopped.
  func endPass(inside parent: UInt) -> Bool {
    guard let index = passes.firstIndex(where: { $0.parent == parent }) else { return false }
    defer { passes.removeSubrange(index...) }
    return passes[index].isStopped
  }

  /// A run inside of `parent` has ended, asked to stop.
  func noteStopped(inside parent: UInt) {
    if let index = passes.firstIndex(where: { $0.parent == parent }) { passes[index].isStopped = true }
  }

  // MARK: Hosts that leave

  func leave(_ isLeft: (HostedWait) -> Bool) {
    for index in waits.indices where isLeft(waits[index]) { waits[index].hasLeft = true }
  }

  /// Its preparation has failed.
  func leaveInnermost() { if let last = waits.indices.last { waits[last].hasLeft = true } }

  // MARK: Events that were found before the pass that serves them

  func hasEvent(for mode: ModePointer) -> Bool { events.contains { $0.mode == mode } }

  func hold(_ event: PassEvent, of mode: ModePointer) { events.append((mode, event)) }

  func takeEvent(for mode: ModePointer) -> PassEvent? {
    guard let index = events.firstIndex(where: { $0.mode == mode }) else { return nil }
    return events.remove(at: index).event
  }

  var holdsEvents: Bool { !events.isEmpty }

  /// Removes all: the caller, which ends the loop, drops them.
  func takeEvents() -> [PassEvent] {
    defer { events = [] }
    return events.map { $0.event }
  }
}

// MARK: Begin and end

extension RunLoop {
  /// Made by the host's first call.
  var hostedWaits: HostedWaits {
    if let hosted = owner.hosted { return hosted }
    let made = HostedWaits()
    owner.hosted = made
    return made
  }

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
      lookForJobs(run, in: mode)
      // Its kick may have ended the host's sleep.
      if stops.isRequested { wakes.oweLook(to: run) }
    }
    return (isWoken, isStopped)
  }

  private func removeLastHostedWait() -> HostedWait {
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

// MARK: Events

extension RunLoop {
  func holdHostedEvent(_ event: PassEvent, of mode: ModePointer) {
    hostedWaits.hold(event, of: mode)
    owner.holdsHostedEvent = true
  }

  func takeHostedEvent(for mode: ModePointer) -> PassEvent? {
    guard let hosted = owner.hosted else { return nil }
    defer { owner.holdsHostedEvent = hosted.holdsEvents }
    return hosted.takeEvent(for: mode)
  }
}

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
