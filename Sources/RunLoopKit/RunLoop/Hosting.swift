/// A loop inside a host's loop: the host polls one descriptor for reading, level-triggered, and calls in around its
/// sleep.
extension RunLoop {
  /// What the host polls for a mode; created at the first call, together with a timer of the mode.
  ///
  /// Compare the answer with the last one after each `runPendingWork(in:)` if an epoll instance of the host watches it.
  /// - Thread: The loop's own. - Blocks: No. - Complexity: No system call after the first.
  /// - Throws: `.wrongThread`, `.loopEnded`, `.forked`, `.commonModeNotRunnable`; `.system` if no descriptor can be
  ///   made.
  @available(*, noasync, message: "hosting belongs to a thread")
  public func hostDescriptor(in mode: Mode = .default) throws(RunLoopError) -> HostDescriptor {
    try checkOwner("hostDescriptor(in:)")
    // `hostedMode` makes it.
    let set = try hostedMode(mode, "hostDescriptor(in:)").ports.set!
    return HostDescriptor(fileDescriptor: set.fileDescriptor, generation: set.rebuilds)
  }

  /// Prepares the loop for the host's wait; to be called before each wait of the host.
  ///
  /// The call notifies the observers of before-waiting, arms the mode's timer and marks the loop as waiting, so that
  /// wakes, stops and timers that other threads set make the descriptor readable [RLK-HOST-3, RLK-CASE-109]. From its
  /// beginning until `runPendingWork(in:)` the loop counts as waiting in this mode, and a wake or a stop, also by an
  /// observer, is for `runPendingWork(in:)` [RLK-HOST-7]. The host may call it again before that, also for another
  /// mode.
  ///
  /// - Returns: True if work is pending already: call `runPendingWork(in:)` instead of waiting [RLK-HOST-2].
  /// - Thread: The loop's own. - Blocks: No.
  /// - Throws: As `hostDescriptor(in:)`, and `.busy` inside a run, or in an observer that this call or
  ///   `runPendingWork(in:)` notifies [RLK-HOST-11].
  @available(*, noasync, message: "hosting belongs to a thread")
  public func prepareToWait(in mode: Mode = .default) throws(RunLoopError) -> Bool {
    let call = "prepareToWait(in:)"
    try checkHost(call)
    let hosted = try hostedMode(mode, call)
    beginHostedWait(hosted)
    if try hasHostedWorkNow(in: hosted) { return true }
    let scope = owner.scopes!.height
    try notifyHosted(hosted, .beforeWaiting)
    // As above.
    owner.scopes!.drain(to: scope)
    owner.hostWait = .asleep
    let isArmed = lock.withLock {
      hosted.armTimers(on: self)
      return hosted.hasArmedRetry
    }
    guard isArmed, wakes.word.beginWait(), !stops.isRequested, try !hasHostedWorkNow(in: hosted) else { return true }
    // That look may have taken the edge of a wake that came in between: the descriptor would not show it again.
    return !wakes.word.isAsleep
  }

  /// Runs what is pending; to be called when the descriptor is readable or `prepareToWait(in:)` answered true.
  ///
  /// This is a run of one pass that does not wait. If nothing is pending, the call makes no pass and answers
  /// `.timedOut` [RLK-HOST-4].
  /// - Returns: `.stopped` if `stop()` was called since `prepareToWait(in:)` [RLK-HOST-9]; else as `run(in:for:)` with
  ///   a limit of zero.
  /// - Thread: The loop's own. - Blocks: No. - Throws: As `prepareToWait(in:)`.
  @available(*, noasync, message: "hosting belongs to a thread")
  @discardableResult
  public func runPendingWork(in mode: Mode = .default) throws(RunLoopError) -> RunResult {
    let call = "runPendingWork(in:)"
    try checkHost(call)
    let hosted = try hostedMode(mode, call)
    if owner.hostWait != .none { try endHostedWait(hosted) }
    let hasWork = try hasHostedWorkNow(in: hosted)
    let isStopped = owner.isHostedStop
    wakes.forgetOwedToHost()
    owner.isHostedStop = false
    guard hasWork else { return .timedOut }
    let result = try run(in: mode, limit: .poll, false)
    if result == .finished { forgetHeldEvent(of: hosted) }
    return isStopped ? .stopped : result
  }

  private func checkHost(_ call: String) throws(RunLoopError) {
    try checkOwner(call)
    guard owner.activation == nil, owner.hostWait != .telling else { throw .busy(call: call) }
  }

  private func notifyHosted(_ mode: ModePointer, _ activity: Activity) throws(RunLoopError) {
    owner.hostWait = .telling
    mode.notify(activity, on: self)
    guard isInThisProcess else { throw .forked }
  }

  private func hostedMode(_ name: Mode, _ call: String) throws(RunLoopError) -> ModePointer {
    guard name != .common else { throw .commonModeNotRunnable(call: call) }
    lock.lock()
    defer { lock.unlock() }
    let mode = state.makeMode(name)
    try mode.makePortSet(on: self)
    // Also without timers: what the kernel refuses is tried again while the host sleeps, and then none could be made.
    try mode.timers.make(.suspending, heardBy: mode.ports.set, on: self)
    return mode
  }

  /// From here on wakes and stops are the host's (rules 15, 19), as from the top of a pass, so that nothing of what the
  /// observers of before-waiting, or others meanwhile, ask for is lost. What was posted while nothing waited is
  /// dropped, since a look at all of it follows; what an earlier `prepareToWait` has got is kept for `runPendingWork`.
  private func beginHostedWait(_ mode: ModePointer) {
    if owner.hostWait == .none {
      _ = stops.begin(owner.nextRun())
      if stops.isQuitting { stop() }
    } else if stops.isRequested {
      owner.isHostedStop = true
    }
    wakes.beginHostedWait()
    owner.hostWait = .open
    lock.withLock { state.currentMode = mode }
  }

  /// A stop by an observer of after-waiting still counts; a wake of that moment is dropped, as in a run.
  private func endHostedWait(_ mode: ModePointer) throws(RunLoopError) {
    wakes.keepForHost()
    if owner.hostWait == .asleep { try notifyHosted(mode, .afterWaiting) }
    if stops.end() { owner.isHostedStop = true }
    owner.hostWait = .none
    wakes.endHostedWait()
    lock.withLock { state.currentMode = nil }
  }

  /// A run that was not asked for by `runPendingWork` is over: an observer's, or the host's own.
  @inline(never)
  func endRunInHostedWait(_ activation: Activation) {
    wakes.endRunInHostedWait(activation)
    if owner.hostWait == .asleep { wakes.goOnSleeping() }
  }

  private func hasHostedWorkNow(in mode: ModePointer) throws(RunLoopError) -> Bool {
    let hasWork = hasHostedWork(in: mode)
    if owner.waitFailure != 0 { throw takeWaitFailure() }
    return hasWork
  }

  /// What does not show on the descriptor, or not yet: a wake, fetched events, messages, blocks, signalled sources, due
  /// timers.
  private func hasHostedWork(in mode: ModePointer) -> Bool {
    if wakes.isOwedToHost || owner.isHostedStop { return true }
    if hasHostedEvent(in: mode) || mode.hasMessages(on: self) { return true }
    return lock.withLock {
      state.hasBlocks(for: mode) || mode.sources.hasSignalled
        || mode.timers.isDue(soft: false)
        || (owner.isMainQueuePending && servesMainQueue(in: mode))
    }
  }

  /// An event that is true, not the edge of a wake or an expiry that is over: held for the pass that follows.
  private func hasHostedEvent(in mode: ModePointer) -> Bool {
    if owner.hasHeldEvent(for: mode) { return true }
    var event = mode.takeEvent(on: self)
    if event == nil {
      let status = mode.ports.set!.look()
      if status < 0, hasFailedForGood(status, in: mode) { return false }
      event = mode.takeEvent(on: self)
    }
    if event == nil { event = lock.withLock { mode.ports.unheard == nil ? nil : mode.takeUnheard() } }
    if let event { owner.heldEvents.append((mode, event)) }
    return event != nil
  }

  /// The mode has become empty: whom the event was for has left.
  private func forgetHeldEvent(of mode: ModePointer) {
    guard let event = owner.takeHeldEvent(for: mode) else { return }
    if case .timer = event { lock.withLock { mode.timers.forgetExpiries() } }
  }
}
