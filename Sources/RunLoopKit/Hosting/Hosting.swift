// A loop inside a foreign loop, the host. The host polls one descriptor for reading, level-triggered, and calls the
// functions below before and after it sleeps.

extension RunLoop {
  /// What the host polls for a mode. The first call creates it and a timerfd, and the mode keeps both.
  ///
  /// If an epoll instance of the host watches the descriptor, get the value again after each `runPendingWork(in:)`, and
  /// compare it with the last one.
  /// - Thread: The loop's own. - Blocks: No. - Complexity: No system call after the first.
  /// - Throws: A `RunLoopError`: `.wrongThread`, `.loopEnded`, `.forked`, `.commonModeNotRunnable`; `.system` if no
  ///   descriptor can be made.
  @available(*, noasync, message: "call it in the host's own loop, not in a task or a main with a top-level await")
  public func hostDescriptor(in mode: Mode = .default) throws -> HostDescriptor {
    try hostDescriptor(of: mode)
  }

  func hostDescriptor(of mode: Mode) throws(RunLoopError) -> HostDescriptor {
    try checkOwner("hostDescriptor(in:)")
    // `hostedMode` makes the set.
    let set = try hostedMode(mode, "hostDescriptor(in:)").ports.set!
    return HostDescriptor(fileDescriptor: set.fileDescriptor, generation: set.rebuilds)
  }

  /// Prepares the loop for the host's wait. Call it before each wait.
  ///
  /// The call notifies the observers of before-waiting, arms the mode's timer and marks the loop as waiting. So wakes,
  /// stops, and timers that other threads set make the descriptor readable [RLK-HOST-3, RLK-HOST-36]. From the
  /// beginning of this call until `runPendingWork(in:)` the loop counts as waiting in this mode: a wake or a stop, also
  /// by an observer, takes effect in `runPendingWork(in:)` [RLK-HOST-7]. If the host calls `prepareToWait(in:)` again
  /// first, that call notifies the observers of after-waiting [RLK-HOST-21]. A host that will call neither again calls
  /// `cancelWait(in:)`. If the call throws an error other than `.busy` and `.hostedElsewhere`, the loop does not wait
  /// in this mode [RLK-HOST-18].
  ///
  /// Nesting: a callout of the loop may run the host's loop (a dialogue, a popup, a drag), which prepares and serves
  /// the loop there as it does outside. The host then has another wait, which may be in another mode, and waits may
  /// nest to any depth. Entry observers are called as for each `runPendingWork(in:)`. A descriptor source, a timer or
  /// an observer whose callout is on the stack is not called again. The main queue is not served while one of its
  /// functions is on the stack. If the inner wait is open when the callout returns, it ends then; a stop that has come
  /// for it stops the run that has made the callout [RLK-HOST-26, RLK-HOST-27].
  ///
  /// - Returns: True if work is pending already: call `runPendingWork(in:)` instead of waiting [RLK-HOST-2].
  /// - Thread: The loop's own. - Blocks: No. - Re-entry: Allowed in callouts of the loop.
  /// - Throws: As `hostDescriptor(in:)`. `.busy` in an observer that this call, `runPendingWork(in:)` or
  ///   `cancelWait(in:)` notifies: that call of the host has not returned yet [RLK-HOST-11]. `.hostedElsewhere` while
  ///   the loop waits in another mode for the host of the same callout: a host serves one mode at a time [RLK-HOST-17].
  ///   `.system` also if other code has closed the mode's timerfd and no descriptor is free for another one: nothing
  ///   would end the sleep [RLK-HOST-24].
  @available(*, noasync, message: "call it in the host's own loop, not in a task or a main with a top-level await")
  public func prepareToWait(in mode: Mode = .default) throws -> Bool {
    try prepareToWait(in: mode, for: nil)
  }

  func prepareToWait(in mode: Mode, for host: ObjectIdentifier?) throws(RunLoopError) -> Bool {
    let hosted = try checkHost(mode, "prepareToWait(in:)")
    beginHostedWait(in: hosted, for: host)
    do throws(RunLoopError) {
      let hasWork = try hosted.findsWorkOrSleeps(on: self)
      return endLeftHostedWaits() || hasWork
    } catch {
      if isInThisProcess {
        owner.hosted?.leaveInnermost()
        endLeftHostedWaits()
      }
      throw error
    }
  }

  /// Runs what is pending. Call it when the descriptor is readable, or when `prepareToWait(in:)` has returned true.
  ///
  /// The call ends the wait, and makes a run of one pass that does not wait. It makes the pass even in a mode that is
  /// empty, or holds only items whose `keepsRunning` is false [RLK-KEEP-6]. If nothing is pending, it makes no pass
  /// [RLK-HOST-4]. Before the pass serves a ready descriptor, other code of the host, or a block or source of the pass,
  /// may read from the descriptor. Then the pass serves only what is left, such as a hang-up or an error [RLK-HOST-16].
  /// To find out, it makes one system call for each ready descriptor, also for an owned one.
  /// - Returns: `.stopped` if `stop()` was called since `prepareToWait(in:)` [RLK-HOST-9], also by a callout of this
  ///   call [RLK-HOST-15]; else `.timedOut`. `isEmpty(in:)` says whether anything is left to wait for.
  /// - Thread: The loop's own. - Blocks: No. - Re-entry: As `prepareToWait(in:)`.
  /// - Throws: As `prepareToWait(in:)`; `.forked` in the child of a callout that has forked [RLK-HOST-22].
  @available(*, noasync, message: "call it in the host's own loop, not in a task or a main with a top-level await")
  @discardableResult
  public func runPendingWork(in mode: Mode = .default) throws -> RunResult {
    let hosted = try checkHost(mode, "runPendingWork(in:)")
    var wait = (isWoken: false, isStopped: false)
    if ownHostedWait != nil { wait = try endHostedWait() }
    let isAsked = wait.isWoken || wait.isStopped
    guard try isAsked || hosted.hasHostedWork(on: self) else { return .timedOut }
    let (result, isStopped) = try runHostedPass(in: mode)
    // The run ends after its one pass and does not read a stop: its limit has passed and comes first, as in CFRunLoop.
    return wait.isStopped || isStopped ? .stopped : result
  }

  private func runHostedPass(in mode: Mode) throws -> (RunResult, isStopped: Bool) {
    let waits = hostedWaits
    let parent = innermostRun.state.at
    waits.beginPass(inside: parent)
    let result = Result { try run(in: mode, limit: .poll, false, isKept: true) }
    let isStopped = waits.endPass(inside: parent)
    return (try result.get(), isStopped)
  }

  /// Ends the wait that `prepareToWait(in:)` has begun, without a pass. Call it if the host does not serve the loop any
  /// more, or not now. Does nothing if no wait has begun.
  ///
  /// The call notifies the observers of after-waiting if those of before-waiting were notified [RLK-HOST-21]. It drops
  /// a stop or a wake that came for the wait, as a loop that does not run drops them [RLK-HOST-18]. If the wait was
  /// begun in a callout, the wake goes on to the enclosing run. Blocks, signals, events and messages stay for the next
  /// run or host. If the host has begun a wait in a callout of the loop, and another one around it, the call ends both.
  /// - Re-entry: Allowed in callouts and observers of the loop; then the wait ends when these, or the run that called
  ///   them, have returned [RLK-HOST-20].
  /// - Thread: The loop's own. - Blocks: No.
  /// - Throws: A `RunLoopError`: `.wrongThread`, `.loopEnded`, `.forked`, `.commonModeNotRunnable`.
  @available(*, noasync, message: "call it in the host's own loop, not in a task or a main with a top-level await")
  public func cancelWait(in mode: Mode = .default) throws {
    let call = "cancelWait(in:)"
    try checkOwner(call)
    guard mode != .common else { throw RunLoopError.commonModeNotRunnable(call: call) }
    cancelHostedWaits { $0.host == nil && $0.mode.name == mode }
  }

  /// Ends the waits of one `LoopHosting`.
  func cancelWaits(for host: ObjectIdentifier) throws(RunLoopError) {
    try checkOwner("leave()")
    cancelHostedWaits { $0.host == host }
  }

  private func cancelHostedWaits(_ isLeft: (HostedWait) -> Bool) {
    endWhatWasLeft()
    owner.hosted?.leave(isLeft)
    endLeftHostedWaits()
  }

  /// Checks a call of the host. Returns the mode, which then has a port set and a timerfd for the host.
  private func checkHost(_ name: Mode, _ call: String) throws(RunLoopError) -> ModePointer {
    try checkOwner(call)
    endWhatWasLeft()
    let wait = ownHostedWait
    if wait?.phase == .notifying { throw .busy(call: call) }
    let mode = try hostedMode(name, call)
    if let wait, wait.mode != mode { throw .hostedElsewhere(call: call, name, waitsIn: wait.mode.name) }
    return mode
  }

  private func endWhatWasLeft() {
    guard innermostRun.isRunning || owner.hasHostedWait else { return }
    var caller: UInt8 = 0
    endLeftHosting(seenFrom: StackPlace(&caller))
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
    mode.markHosted()
    return mode
  }
}
