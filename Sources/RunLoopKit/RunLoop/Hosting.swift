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
    /// `prepareToWait` has notified before-waiting.
    case asleep
  }

  fileprivate(set) var phase = Phase.none
  /// A stop reached the loop before its `runPendingWork`.
  fileprivate var isStopped = false
  /// A stop reached the loop's last run, and that ended without asking.
  var isRunStopped = false
  /// Whose observers have been told of before-waiting, and not of after-waiting since.
  private var told: [ModePointer] = []
  /// Whose host has left, from inside of a callout: their wait ends when that has returned.
  private var left: [ModePointer] = []
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

  /// The host is about to sleep.
  fileprivate mutating func sleeps(in mode: ModePointer) {
    if !told.contains(mode) { told.append(mode) }
    phase = .asleep
  }

  /// False if it was not told.
  fileprivate mutating func takeTold(_ mode: ModePointer) -> Bool {
    guard let index = told.firstIndex(of: mode) else { return false }
    told.remove(at: index)
    return true
  }

  fileprivate mutating func takeTold() -> ModePointer? { told.isEmpty ? nil : told.removeFirst() }

  /// One of the modes has left the wait.
  fileprivate mutating func goesOn() { phase = told.isEmpty ? .open : .asleep }

  mutating func leaves(_ mode: ModePointer) { left.append(mode) }

  mutating func takeLeft() -> ModePointer? { left.popLast() }

  fileprivate mutating func isOver() {
    phase = .none
    (told, left) = ([], [])
  }

  /// A run that was not asked for by `runPendingWork` is over: an observer's, or the host's own. `others`: the host has
  /// prepared other modes than the last one. Of these it may have taken kicks and events, and nobody looks after them
  /// before the host sleeps.
  @inline(never)
  func hasRun(others: Bool, _ wakes: borrowing Wakes) {
    if phase == .asleep { wakes.goOnSleeping() } else if others { wakes.keepKickForHost() }
  }
}

extension RunLoop {
  /// What the host polls for a mode; created at the first call, together with a timer of the mode. The mode keeps both
  /// for good.
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
  /// mode; then work for each of them ends the wait [RLK-HOST-17], and a mode that is prepared anew first hears of
  /// after-waiting [RLK-HOST-21]. A host that calls neither again calls `cancelWait(in:)`. If the call throws, and not
  /// `.busy`, the loop does not wait in this mode [RLK-HOST-18].
  ///
  /// - Returns: True if work is pending already: call `runPendingWork(in:)` instead of waiting [RLK-HOST-2].
  /// - Thread: The loop's own. - Blocks: No.
  /// - Throws: As `hostDescriptor(in:)`, and `.busy` inside a run, or in an observer that this call,
  ///   `runPendingWork(in:)` or `cancelWait(in:)` notifies [RLK-HOST-11]. `.system` also if other code has closed the
  ///   mode's timer descriptor and there is none for another one: nothing would end the sleep [RLK-HOST-24].
  @available(*, noasync, message: "hosting belongs to a thread: call it in the host's own loop, outside of tasks")
  public func prepareToWait(in mode: Mode = .default) throws -> Bool {
    let call = "prepareToWait(in:)"
    try checkHost(call)
    let hosted = try hostedMode(mode, call)
    hosted.beginHostedWait(on: self)
    do {
      let hasWork = try hosted.findsWorkOrSleeps(on: self)
      return hosted.endLeftWaits(on: self) || hasWork
    } catch {
      if isInThisProcess {
        owner.hosted.leaves(hosted)
        _ = hosted.endLeftWaits(on: self)
      }
      throw error
    }
  }

  /// Runs what is pending; to be called when the descriptor is readable or `prepareToWait(in:)` answered true.
  ///
  /// This is a run of one pass that does not wait, which the host keeps: also in a mode that is empty, or holds only
  /// items whose `keepsRunning` is false [RLK-KEEP-6]. If nothing is pending, the call makes no pass [RLK-HOST-4]. The
  /// call ends the wait in all modes: a host of several prepares each of them again before it sleeps. A
  /// descriptor that was found ready before the pass, and was read since by other code of the host or by a block or
  /// source of the pass, is not served, or for what is left: a hang-up, an error [RLK-HOST-16]. That costs one system
  /// call for such a descriptor, also for an owned one.
  /// - Returns: `.stopped` if `stop()` was called since `prepareToWait(in:)` [RLK-HOST-9], also by a callout of this
  ///   call [RLK-HOST-15]; else `.timedOut`. Whether anything is left to wait for, `isEmpty(in:)` answers.
  /// - Thread: The loop's own. - Blocks: No.
  /// - Throws: As `prepareToWait(in:)`; `.forked` in the child of a callout that has forked [RLK-HOST-22].
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
    let result = try run(in: mode, limit: .poll, false, isKept: true)
    guard isInThisProcess else { throw RunLoopError.forked }  // a callout has forked, and this is the child
    // A run of one pass ends before it asks for a stop: CFRunLoop's limit comes first.
    return isStopped || owner.hosted.isRunStopped ? .stopped : result
  }

  /// Ends the wait that `prepareToWait(in:)` has begun, without a pass: for a host that serves the loop no more, or not
  /// now. Nothing is done if none has begun.
  ///
  /// The call notifies the observers of after-waiting if those of before-waiting were notified. A stop or a wake that
  /// came for the wait is dropped, as by a loop that does not run [RLK-HOST-18]; blocks, signals, events and messages
  /// stay for the next run or host. Other modes that were prepared wait on [RLK-HOST-19]; in each mode observers hear
  /// of both ends of a wait, or of neither [RLK-HOST-21].
  /// - Re-entry: Allowed in callouts and observers of the loop; then the wait ends when these, or the run that called
  ///   them, have returned [RLK-HOST-20].
  /// - Thread: The loop's own. - Blocks: No.
  /// - Throws: A `RunLoopError`: `.wrongThread`, `.loopEnded`, `.forked`, `.commonModeNotRunnable`.
  @available(*, noasync, message: "hosting belongs to a thread: call it in the host's own loop, outside of tasks")
  public func cancelWait(in mode: Mode = .default) throws {
    let call = "cancelWait(in:)"
    try checkOwner(call)
    guard mode != .common else { throw RunLoopError.commonModeNotRunnable(call: call) }
    guard owner.hosted.phase != .none, let hosted = lock.withLock({ state.mode(mode) }) else { return }
    owner.hosted.leaves(hosted)
    if !isBusy { _ = hosted.endLeftWaits(on: self) }
  }

  @inline(__always)
  private func checkHost(_ call: String) throws(RunLoopError) {
    try checkOwner(call)
    if isBusy { throw .busy(call: call) }
  }

  /// In a run, or in an observer that the host's call notifies.
  @inline(__always)
  private var isBusy: Bool {
    guard innermostRun.isRunning || owner.hosted.phase == .telling else { return false }
    var caller: UInt8 = 0
    let place = StackPlace(&caller)
    return isInRun(seenFrom: place) || isTelling(seenFrom: place)
  }

  /// What was left by an exception or longjmp(3) tells nobody any more.
  @inline(never)
  private func isTelling(seenFrom place: StackPlace) -> Bool {
    guard owner.hosted.phase == .telling else { return false }
    guard place.sees(left: UInt(bitPattern: innermostRun.state.scope)) else { return true }
    owner.hosted.phase = .open
    endLeftNotification()
    return false
  }

  private func hostedMode(_ name: Mode, _ call: String) throws(RunLoopError) -> ModePointer {
    guard name != .common else { throw .commonModeNotRunnable(call: call) }
    lock.lock()
    defer { lock.unlock() }
    let mode = state.makeMode(name)
    do throws(RunLoopError) {
      try mode.makeHostDescriptors(on: self)
    } catch {
      mayHaveIdled(mode)
      throw error
    }
    mode.isTakenByHost()
    return mode
  }
}

// MARK: The mode that a host waits for

extension ModePointer {
  /// The host polls the port set, and its sleep ends for nothing else. A timerfd also without timers: what the kernel
  /// refuses is tried again while the host sleeps, and then none could be made.
  fileprivate func makeHostDescriptors(on loop: RunLoop) throws(RunLoopError) {
    try makePortSet(on: loop)
    // Made in the line above.
    try timers.makePort(.suspending, in: ports.set!, on: loop)
  }

  /// Nothing but a timerfd ends a host's sleep for a date: one that other code has closed is made again, or it throws.
  fileprivate func armForHost(on loop: RunLoop) throws(RunLoopError) -> Bool {
    loop.lock.lock()
    defer { loop.lock.unlock() }
    armTimers(on: loop)
    if hasArmedRetry(on: loop) { return true }
    try makeHostDescriptors(on: loop)
    return hasArmedRetry(on: loop)
  }

  fileprivate func notifyHosted(_ activity: RunLoop.Activity, on loop: RunLoop) throws(RunLoopError) {
    var mark: UInt = 0
    withUnsafeMutablePointer(to: &mark) {
      $0.pointee = StackPlace($0).address
      loop.innermostRun.state.scope = Int(bitPattern: $0.pointee)
      loop.owner.hosted.phase = .telling
      notify(activity, insideOf: loop.innermostRun.state.at, on: loop)
    }
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

  /// True: call `runPendingWork`.
  fileprivate func findsWorkOrSleeps(on loop: RunLoop) throws(RunLoopError) -> Bool {
    if loop.owner.hosted.takeTold(self) {
      // The host has waited, served others than the loop, and waits anew.
      try notifyHosted(.afterWaiting, on: loop)
      loop.owner.hosted.phase = .open
    }
    if try hasHostedWork(on: loop) { return true }
    // Set when the loop was made for its thread (`currentLoop`).
    let scope = loop.owner.scopes!.height
    try notifyHosted(.beforeWaiting, on: loop)
    loop.owner.scopes!.drain(to: scope)  // As above.
    loop.owner.hosted.sleeps(in: self)
    guard try armForHost(on: loop), loop.beginWait(in: ports.set!), !loop.stops.isRequested else { return true }
    if try hasHostedWork(on: loop) { return true }
    // That look may have taken the edge of a wake that came in between: the descriptor would not show it again.
    return !loop.wakes.word.isAsleep
  }

  /// A stop by an observer of after-waiting still counts; a wake of that moment is dropped, as in a run.
  fileprivate func endHostedWait(on loop: RunLoop) throws(RunLoopError) {
    loop.wakes.keepForHost()
    while let mode = loop.owner.hosted.takeTold() { try mode.notifyHosted(.afterWaiting, on: loop) }
    if loop.stops.end() { loop.owner.hosted.isStopped = true }
    loop.owner.hosted.isOver()
    loop.wakes.endHostedWait()
    loop.lock.withLock { loop.state.endHostedWait() }
  }

  /// The waits of those that have left, also in callouts of the caller's, are over: true if this mode's is.
  func endLeftWaits(on loop: RunLoop) -> Bool {
    var isOver = false
    while let mode = loop.owner.hosted.takeLeft() {
      if mode == self { isOver = true }
      mode.cancelHostedWait(on: loop)
    }
    return isOver
  }

  /// Of a mode that is not prepared nothing is left. The loop waits on in other modes that are. An observer here may
  /// fork, and the child is left as it is.
  fileprivate func cancelHostedWait(on loop: RunLoop) {
    guard loop.owner.hosted.phase != .none, loop.lock.withLock({ loop.runs(in: self) }) else { return }
    if loop.owner.hosted.takeTold(self) {
      guard (try? notifyHosted(.afterWaiting, on: loop)) != nil else { return }
    }
    if loop.lock.withLock({ loop.state.cancelPreparation(of: self) }) {
      loop.owner.hosted.goesOn()
      if loop.owner.hosted.phase == .asleep { loop.wakes.sleepOnIfNeeded() }
      return
    }
    loop.wakes.keepForHost()
    loop.wakes.endHostedWait()
    loop.wakes.forgetOwedToHost()
    _ = loop.stops.end()
    loop.owner.hosted.isStopped = false
    loop.owner.hosted.isOver()
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
}
