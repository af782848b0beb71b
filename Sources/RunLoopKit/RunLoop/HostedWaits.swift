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
  /// The run in one of whose callouts the host waits; nil: none.
  let parent: Activation?
  /// What the wait was begun for; nil: a call without a `LoopHosting`.
  var host: ObjectIdentifier?
  var phase = Phase.open
  /// Its host has left, from inside of a callout: the wait ends when that has returned.
  var hasLeft = false

  /// The current mode before.
  let outerMode: ModePointer?
  /// What was asked of the run around it (rule 20).
  let stopAround: UInt64
  /// Of the wait around it: one in whose course the host runs the loop itself.
  let outerWakes: Wakes.OfHost
}

/// What a loop has that has a host: the waits that are open, the innermost one last, and what they have found. [loop]
final class HostedWaits {
  fileprivate(set) var waits: ContiguousArray<HostedWait> = []
  /// Of several modes at most one each.
  private var events: [(mode: ModePointer, event: PassEvent)] = []
  /// How a run sleeps in the host, and in which.
  var sleep: (host: ObjectIdentifier, body: HostSleep)?
  /// The innermost pass that a host has asked for.
  var pass = Pass()

  struct Pass {
    /// Whether there is one.
    var isRunning = false
    /// The run in one of whose callouts the host has asked for it.
    var parent: Activation?
    /// A stop has reached its run, and that has ended without asking.
    var isStopped = false
  }

  /// A run inside of `parent` has ended, asked to stop.
  func noteStopped(inside parent: Activation?) {
    if pass.isRunning, pass.parent == parent { pass.isStopped = true }
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
    guard let wait = owner.hosted?.waits.last, wait.parent == owner.activation else { return nil }
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
    guard let run = owner.activation else { return }
    lock.withLock {
      // As a run inside of it would find them.
      state.collectedTimers.putBack()
      run.muteServed(in: mode, on: self)
    }
  }

  private func pushHostedWait(in mode: ModePointer, on hosted: HostedWaits) {
    let run = owner.activation
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
        mode: mode, parent: run, outerMode: outerMode, stopAround: stopAround, outerWakes: outerWakes))
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
    let isStopped = stops.end(wait.stopAround)
    let isWoken = wakes.endHostedWait(wait.outerWakes, inside: wait.parent)
    lock.withLock {
      state.currentMode = wait.outerMode
      wait.outerMode?.ensureTimersAreArmed(on: self)
    }
    if let run = wait.parent {
      lookForJobs(run)
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
    if wait.parent != nil { callouts.attention.subtract(1, ordering: .sequentiallyConsistent) }
    return wait
  }

  /// Calls the observers for a host, inside whatever callout it calls from.
  func tellHosted(_ activity: Activity, in mode: ModePointer) throws(RunLoopError) {
    setPhase(.telling)
    let callout = owner.activation == nil ? 0 : lock.withLock { callouts.enclose(on: self) }
    mode.notify(activity, on: self)
    guard isInThisProcess else { throw .forked }
    if callout != 0 { lock.withLock { callouts.restore(callout, on: self) } }
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
    guard isInThisProcess, let run = owner.activation else { return }
    while let wait = owner.hosted?.waits.last, wait.parent == run, wait.phase != .telling {
      guard let end = try? endHostedWait() else { return }
      if end.isStopped { stop() }
    }
  }

  /// A run is over that was begun inside of a wait, or in whose course one was left open by what is no callout.
  @inline(never)
  func runEndsInHostedWait(_ run: Activation) {
    guard isInThisProcess else { return }
    while let wait = owner.hosted?.waits.last, wait.parent == run { forgetHostedWait(wait) }
    guard let wait = ownHostedWait else { return }
    // It may have taken kicks and events, and nobody looks after them before the host sleeps.
    wakes.endRunInHostedWait(run)
    if wait.phase == .asleep { wakes.goOnSleeping() }
    endLeftHostedWaits()
  }

  /// The run around it is over, which has put back what was before.
  private func forgetHostedWait(_ wait: HostedWait) {
    wakes.keepForHost()
    if wait.phase == .asleep { try? tellHosted(.afterWaiting, in: wait.mode) }
    _ = removeLastHostedWait()
    _ = wakes.endHostedWait(wait.outerWakes, inside: wait.parent?.parent)
  }
}
