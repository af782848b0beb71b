internal import Synchronization

// Runs that were left: a C++ exception, another unwinding or longjmp(3) has jumped over them, out of a callout. Nothing
// notifies the loop of that. The loop finds such a run by its address on the stack: when the next run or a host's call
// begins, and when a callout returns although a run inside it has not ended (decision 0041).

extension RunLoop {
  /// Ends the runs that were left.
  /// - Parameter place: The stack place of the run that begins.
  /// - Thread: The loop's own.
  @inline(never)
  func endLeftRuns(seenFrom place: StackPlace) {
    while innermostRun.isRunning, place.seesRun(left: innermostRun.state.at) {
      endLeftRun(hasCalloutEnded: false)
    }
    if owner.hasHostedWait { endLeftHosting(seenFrom: place) }
  }

  /// Ends the runs that were left. Called in a host's call, whose stack place is `place`. Returns true if that call is
  /// inside a run.
  /// - Thread: The loop's own.
  @inline(never)
  func isInRun(seenFrom place: StackPlace) -> Bool {
    while innermostRun.isRunning, place.sees(left: innermostRun.state.at) {
      endLeftRun(hasCalloutEnded: false)
    }
    return innermostRun.isRunning
  }

  /// The stack address of the run that calls an item. - Thread: The loop's own.
  var placeOfRun: UInt { innermostRun.state.at }

  /// Called after a callout of the run at this stack address: ends the runs that the callout has begun, if any were
  /// left. - Thread: The loop's own.
  func endRuns(insideOf at: UInt) { if innermostRun.state.at != at { endInnerRuns(at) } }

  @inline(never)
  private func endInnerRuns(_ at: UInt) {
    while innermostRun.isRunning, innermostRun.state.at != at { endLeftRun(hasCalloutEnded: true) }
    if owner.hasHostedWait { endHostedWaitsOfCallout() }
  }

  /// Called when a callout returns at `place`: ends the runs that it has begun, if any were left.
  /// - Thread: The loop's own.
  func endRuns(leftInCalloutThatEndsAt place: StackPlace) {
    while innermostRun.isRunning, place.sees(left: innermostRun.state.at) { endLeftRun(hasCalloutEnded: true) }
  }

  /// Ends the innermost run, which was left. Puts back what the run has taken and not called. The callout that was left
  /// counts as ended.
  /// - Parameter hasCalloutEnded: True if the callout in which the run began has returned.
  @inline(never)
  func endLeftRun(hasCalloutEnded: Bool) {
    if owner.hasHostedWait { endHostedWaitsOfLeftRun() }
    let left = innermostRun.state
    wakes.endRun(innermostRun)
    owner.hosted?.forgetPass(inside: innermostRun.parent?.state.at ?? 0)
    let rest = lock.withLock { LeftRun(left, hasCalloutEnded, on: self) }
    endNesting()
    if left.serving == .muted, let source = left.servedSource { unmute(source) }
    rest.end(on: self)
    left.owned?.owned?.release()
    left.awaited?.takeUnretainedValue().isLeft()
    owner.scopes!.drain(to: left.scope)  // not nil: a run has begun
    if stops.isQuitting { requestStop() }
    callouts.haveBeenLeft(on: self)
    for companion in lock.withLock({ state.companions.all }) { companion.runWasLeft(left.at) }
  }
}

extension ModePointer {
  /// The observers that are marked as firing, although their callouts are not on the stack. Under the lock.
  func leftObservers(on loop: RunLoop) -> [RunLoop.Observer] {
    observers.row.map(\.observer).filter {
      $0.isFiring && !loop.callouts.isOnStack(ObjectIdentifier($0), of: loop)
    }
  }
}

/// The parts of a left run that the loop ends without its lock.
private struct LeftRun {
  private var timers: [Unmanaged<RunLoop.Timer>] = []
  private var observers: [RunLoop.Observer] = []
  private var sources: ArraySlice<OwnerState.CollectedSource> = []
  private var calls: [Unmanaged<CallOnStack>] = []

  /// Restores what the run has changed. Under the lock.
  init(_ left: Activation.State, _ hasCalloutEnded: Bool, on loop: RunLoop) {
    let outer = left.outer
    loop.state.collectedTimers.putBack()
    while let timer = loop.state.collectedTimers.takeLast(behind: outer?.pointee.collectedTimers ?? 0) {
      timers.append(timer)
    }
    let base = outer?.pointee.collectedSources ?? 0
    sources = loop.owner.collectedSources[base...]
    loop.owner.collectedSources.removeSubrange(base...)
    loop.owner.successor = nil
    loop.owner.times.endLeft(behind: outer?.pointee.timedCallouts ?? 0)
    while let call = loop.owner.awaitedCall, call.takeUnretainedValue().run == left.at {
      calls.append(call)
      loop.owner.awaitedCall = call.takeUnretainedValue().outer
    }
    loop.state.extras?.idleBlocksAreLeft(in: left.at)
    loop.callouts.endLeft(
      behind: outer?.pointee.enclosingCallouts ?? 0, hasCalloutEnded ? 0 : outer?.pointee.callout ?? 0, on: loop)
    loop.state.isInMainQueue = outer?.pointee.isInMainQueue ?? false
    loop.state.putBackDrain(&loop.owner.drain)
    loop.queuedBlocks.store(loop.state.blocks.isEmpty ? 0 : 1, ordering: .releasing)
    endMode(outer?.pointee.mode, on: loop)
    if loop.stops.endLeft(outer?.pointee.stop ?? 0) { loop.wakes.word.interrupt() }
  }

  /// Ends the use of the current mode, which is that of the left run.
  private mutating func endMode(_ outer: ModePointer?, on loop: RunLoop) {
    guard let mode = loop.state.currentMode else { return }
    observers = mode.leftObservers(on: loop)
    mode.useCount -= 1
    loop.state.currentMode = outer
    loop.mayHaveIdled(mode)
    outer?.ensureTimersAreArmed(on: loop)
  }

  /// Ends the callouts of timers, observers and awaited blocks as if they had returned.
  func end(on loop: RunLoop) {
    for timer in timers {
      timer.takeUnretainedValue().isLeft(on: loop)
      timer.release()
    }
    for observer in observers { observer.isLeft() }
    for call in calls { call.takeUnretainedValue().isLeft() }
    withExtendedLifetime(sources) {}
  }
}

extension RunLoop.Timer {
  /// Ends the timer's callout, if the callout was on the part of the stack that was left.
  fileprivate func isLeft(on loop: RunLoop) {
    guard isFiring else { return }
    if intervalNanoseconds == 0 {
      firing.store(false, ordering: .relaxed)
      invalidate()
    } else {
      endRepeated(fired: withSchedule { $0.date }, on: loop)
    }
  }
}

extension RunLoop.Observer {
  func isLeft() {
    firing.store(false, ordering: .relaxed)
    if !repeats { invalidate() }
  }
}
