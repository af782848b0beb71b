// A loop inside a host's loop: the host polls one descriptor for reading, level-triggered, and calls in around its
// sleep.

/// How far the wait of a hosted loop is, and what it has found before the pass that serves it. [loop]
struct HostedWait {
  /// In all but the first phase wakes and stops are the host's.
  enum Phase {
    /// `runPendingWork` has been called since `prepareToWait`, or neither of them.
    case none
    /// `prepareToWait` has begun, or has found work.
    case open
    /// Observers are being notified by one of the two.
    case telling
    /// `prepareToWait` has notified before-waiting, so `runPendingWork` has to notify after-waiting.
    case asleep
  }

  fileprivate(set) var phase = Phase.none
  /// A stop reached the loop before its `runPendingWork`.
  fileprivate var isStopped = false
  /// A stop reached the loop's last run, and that ended without asking.
  var isRunStopped = false
  /// Of several modes at most one each.
  private var events: [(mode: ModePointer, event: PassEvent)] = []

  func hasEvent(for mode: ModePointer) -> Bool { events.contains { $0.mode == mode } }

  mutating func hold(_ event: PassEvent, of mode: ModePointer) { events.append((mode, event)) }

  @inline(__always)
  mutating func takeEvent(for mode: ModePointer) -> PassEvent? { events.isEmpty ? nil : takeFirstEvent(for: mode) }

  @inline(never)
  private mutating func takeFirstEvent(for mode: ModePointer) -> PassEvent? {
    guard let index = events.firstIndex(where: { $0.mode == mode }) else { return nil }
    return events.remove(at: index).event
  }

  /// Removes all: the caller, which ends the loop, drops them.
  mutating func takeEvents() -> [(mode: ModePointer, event: PassEvent)] {
    defer { events = [] }
    return events
  }

  /// A run that was not asked for by `runPendingWork` is over: an observer's, or the host's own. `others`: the host has
  /// prepared other modes than the last one. Of these it may have taken kicks and events, and nobody looks after them
  /// before the host sleeps.
  @inline(never)
  func hasRun(_ activation: Activation, others: Bool, _ wakes: borrowing Wakes) {
    wakes.endRunInHostedWait(activation)
    if phase == .asleep { wakes.goOnSleeping() } else if others { wakes.keepKickForHost() }
  }
}

extension RunLoop {
  /// What the host polls for a mode; created at the first call, together with a timer of the mode.
  ///
  /// Compare the answer with the last one after each `runPendingWork(in:)` if an epoll instance of the host watches it.
  /// - Thread: The loop's own. - Blocks: No. - Complexity: No system call after the first.
  /// - Throws: A `RunLoopError`: `.wrongThread`, `.loopEnded`, `.forked`, `.commonModeNotRunnable`; `.system` if no
  ///   descriptor can be made.
  @available(*, noasync, message: "hosting belongs to a thread: call it in the host's own loop, outside of tasks")
  public func hostDescriptor(in mode: Mode = .default) throws -> HostDescriptor {
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
  /// mode; then work for each of them ends the wait [RLK-HOST-17].
  ///
  /// - Returns: True if work is pending already: call `runPendingWork(in:)` instead of waiting [RLK-HOST-2].
  /// - Thread: The loop's own. - Blocks: No.
  /// - Throws: As `hostDescriptor(in:)`, and `.busy` inside a run, or in an observer that this call or
  ///   `runPendingWork(in:)` notifies [RLK-HOST-11].
  @available(*, noasync, message: "hosting belongs to a thread: call it in the host's own loop, outside of tasks")
  public func prepareToWait(in mode: Mode = .default) throws -> Bool {
    let call = "prepareToWait(in:)"
    try checkHost(call)
    let hosted = try hostedMode(mode, call)
    hosted.beginHostedWait(on: self)
    if try hosted.hasHostedWork(on: self) { return true }
    let scope = owner.scopes!.height
    try hosted.notifyHosted(.beforeWaiting, on: self)
    // As above.
    owner.scopes!.drain(to: scope)
    owner.hosted.phase = .asleep
    let isArmed = lock.withLock {
      hosted.armTimers(on: self)
      return hosted.hasArmedRetry
    }
    guard isArmed, wakes.word.beginWait(), !stops.isRequested, try !hosted.hasHostedWork(on: self) else { return true }
    // That look may have taken the edge of a wake that came in between: the descriptor would not show it again.
    return !wakes.word.isAsleep
  }

  /// Runs what is pending; to be called when the descriptor is readable or `prepareToWait(in:)` answered true.
  ///
  /// This is a run of one pass that does not wait. If nothing is pending, the call makes no pass and answers
  /// `.timedOut` [RLK-HOST-4]. A descriptor that was found ready before the pass, and was read since by other code of
  /// the host or by a block or source of the pass, is not served, or for what is left: a hang-up, an error
  /// [RLK-HOST-16]. That costs one system call for such a descriptor, also for an owned one.
  /// - Returns: `.stopped` if `stop()` was called since `prepareToWait(in:)` [RLK-HOST-9], also by a callout of this
  ///   call [RLK-HOST-15]; else as `run(in:for:)` with a limit of zero.
  /// - Thread: The loop's own. - Blocks: No. - Throws: As `prepareToWait(in:)`.
  @available(*, noasync, message: "hosting belongs to a thread: call it in the host's own loop, outside of tasks")
  @discardableResult
  public func runPendingWork(in mode: Mode = .default) throws -> RunResult {
    let call = "runPendingWork(in:)"
    try checkHost(call)
    let hosted = try hostedMode(mode, call)
    if owner.hosted.phase != .none { try hosted.endHostedWait(on: self) }
    let hasWork = try hosted.hasHostedWork(on: self)
    let isStopped = owner.hosted.isStopped
    wakes.forgetOwedToHost()
    owner.hosted.isStopped = false
    guard hasWork else { return .timedOut }
    owner.hosted.isRunStopped = false
    let result = try run(in: mode, limit: .poll, false)
    if result == .finished { hosted.forgetHeldEvent(on: self) }
    // A run of one pass ends before it asks for a stop: CFRunLoop's limit comes first.
    return isStopped || owner.hosted.isRunStopped ? .stopped : result
  }

  private func checkHost(_ call: String) throws(RunLoopError) {
    try checkOwner(call)
    guard owner.activation == nil, owner.hosted.phase != .telling else { throw .busy(call: call) }
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
}

// MARK: The mode that a host waits for

extension ModePointer {
  fileprivate func notifyHosted(_ activity: RunLoop.Activity, on loop: RunLoop) throws(RunLoopError) {
    loop.owner.hosted.phase = .telling
    notify(activity, on: loop)
    guard loop.isInThisProcess else { throw .forked }
  }

  /// From here on wakes and stops are the host's (rules 15, 19), as from the top of a pass, so that nothing of what the
  /// observers of before-waiting, or others meanwhile, ask for is lost. What was posted while nothing waited is
  /// dropped, since a look at all of it follows; what an earlier `prepareToWait` has got is kept for `runPendingWork`.
  fileprivate func beginHostedWait(on loop: RunLoop) {
    if loop.owner.hosted.phase == .none {
      _ = loop.stops.begin(loop.owner.nextRun())
      if loop.stops.isQuitting { loop.stop() }
    } else if loop.stops.isRequested {
      loop.owner.hosted.isStopped = true
    }
    loop.wakes.beginHostedWait()
    loop.owner.hosted.phase = .open
    loop.lock.withLock { loop.state.prepare(self) }
  }

  /// A stop by an observer of after-waiting still counts; a wake of that moment is dropped, as in a run.
  fileprivate func endHostedWait(on loop: RunLoop) throws(RunLoopError) {
    loop.wakes.keepForHost()
    if loop.owner.hosted.phase == .asleep { try notifyHosted(.afterWaiting, on: loop) }
    if loop.stops.end() { loop.owner.hosted.isStopped = true }
    loop.owner.hosted.phase = .none
    loop.wakes.endHostedWait()
    loop.lock.withLock { loop.state.endHostedWait() }
  }

  fileprivate func hasHostedWork(on loop: RunLoop) throws(RunLoopError) -> Bool {
    let hasWork = lookForHostedWork(on: loop)
    if loop.owner.failedWaits.failure != 0 { throw loop.owner.failedWaits.takeError() }
    return hasWork
  }

  /// What does not show on the descriptor, or not yet: a wake, fetched events, messages, blocks, signalled sources, due
  /// timers.
  private func lookForHostedWork(on loop: RunLoop) -> Bool {
    if loop.wakes.isOwedToHost || loop.owner.hosted.isStopped { return true }
    if holdsHostedEvent(on: loop) || hasMessages(on: loop) { return true }
    return loop.lock.withLock {
      loop.state.hasBlocks(for: self) || sources.hasSignalled
        || timers.isDue(soft: false)
        || (loop.owner.mainQueue.isSignalled && loop.servesMainQueue(in: self))
    }
  }

  /// An event that is true, not the edge of a wake or an expiry that is over: held for the pass that follows.
  private func holdsHostedEvent(on loop: RunLoop) -> Bool {
    if loop.owner.hosted.hasEvent(for: self) { return true }
    var event = takeEvent(on: loop)
    if event == nil {
      let status = ports.set!.look()
      if loop.isMain { noteFetch(status, on: loop) }
      if status < 0, hasFailedForGood(status, on: loop) { return false }
      event = takeEvent(on: loop)
    }
    if event == nil { event = loop.lock.withLock { ports.unwatched == nil ? nil : takeUnwatched() } }
    if let event { loop.owner.hosted.hold(event, of: self) }
    return event != nil
  }

  /// The mode has become empty: whom the event was for has left.
  fileprivate func forgetHeldEvent(on loop: RunLoop) {
    guard let event = loop.owner.hosted.takeEvent(for: self) else { return }
    if case .timer = event { loop.lock.withLock { timers.forgetExpiries() } }
    event.drop()
  }
}
