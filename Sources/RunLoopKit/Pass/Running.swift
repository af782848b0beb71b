extension RunLoop {
  /// Runs the loop in one mode. Returns when nothing is left to wait for, when `stop()` is called, when the limit has
  /// passed, or, with `returnAfterSourceHandled`, after a source was handled.
  ///
  /// `run()` is `CFRunLoopRun`: it returns after a stop, where Foundation's `RunLoop.run()` starts again.
  /// `runUntilStopped(in:)` also stays in an empty mode.
  ///
  /// The run looks whether the mode is empty at the end of a pass only, as in CFRunLoop. If the mode's last member goes
  /// before the pass sleeps, in a block or an observer, or if another thread removes or invalidates it, the run sleeps
  /// until something wakes it [RLK-RUN-16]. So after `try loop.perform { … }` on a loop without other members, `run()`
  /// runs the block and does not return. Queue the block by `performAsSource(in:block:onDrop:)`, after which the pass
  /// does not sleep, or call `wakeUp()` after removing the last member. A `stop()` that comes before the run has begun
  /// is lost; queue it: `try loop.perform { loop.stop() }`.
  ///
  /// One `await` at the top level makes all of `main.swift` asynchronous, where the compiler refuses this call. Write
  /// the `await` inside of `try RunLoop.main.run { … }`.
  ///
  /// Every callout may begin a nested run [RLK-RUN-7]. A run of `.common`, of an unknown mode or of an empty mode
  /// returns `.finished` at once and calls no observer (`diagnostics` reports it) [RLK-RUN-1]. On the main loop a
  /// run in a common mode never returns `.finished`: the main dispatch queue counts as a member, even if the process
  /// has none (`servesMainQueue`).
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let mail = RunLoop.Source { _ in print("there is mail") }  // prints there is mail
  /// try loop.add(mail)
  /// mail.signal()
  /// print(try loop.run(for: .seconds(1), returnAfterSourceHandled: true))  // prints handledSource
  /// print(try loop.run(for: .milliseconds(10)))  // prints timedOut
  /// ```
  /// - Parameters:
  ///   - mode: The mode whose members are served.
  ///   - limit: How long the run may take. Nil or more than about 16 years means no limit [RLK-RUN-4], zero or less one
  ///     pass that does not wait [RLK-RUN-3].
  ///   - returnAfterSourceHandled: If true, the run returns after the first pass that has performed a source, called a
  ///     port source or served the main queue. Timers and blocks do not count.
  /// - Returns: The first result that applies, in this order: handled, timed out, stopped, finished.
  /// - Thread: The loop's own.
  /// - Throws: A `RunLoopError`: `.wrongThread`, `.loopEnded`. `.forked` in a child of fork(2). If a callout has
  ///   forked, this run and those around it call nothing more in the child, and throw `.forked` too [RLK-FORK-2].
  ///   `.system` if the system has no descriptor for the mode's first run. `.system` also if every further wait would
  ///   fail, because other code has closed the loop's epoll descriptor (a stray close(2), closefrom(3)) and no new one
  ///   can be made [RLK-RUN-9, RLK-RUN-10]: the run has then called the observers of after-waiting and exit, and the
  ///   loop's description reports the failure.
  /// - SeeAlso: `CFRunLoopRun`, `CFRunLoopRunInMode`.
  @available(*, noasync, message: "it blocks: call it, or run { await ... }, in a main without a top-level await")
  @discardableResult
  public func run(
    in mode: Mode = .default, for limit: Duration? = nil, returnAfterSourceHandled: Bool = false
  ) throws -> RunResult {
    try checkOwner("run(in:for:returnAfterSourceHandled:)")
    return try run(in: mode, limit: RunLimit(limit), returnAfterSourceHandled)
  }

  /// As `run(in:for:returnAfterSourceHandled:)`, but `until` is the moment at which the run times out.
  ///
  /// ```swift
  /// let deadline = RunLoop.Instant.now.advanced(by: .milliseconds(10))
  /// print(try RunLoop.current.run(until: deadline))  // prints timedOut
  /// print(RunLoop.Instant.now >= deadline)  // prints true
  /// ```
  @available(*, noasync, message: "it blocks: call it, or run { await ... }, in a main without a top-level await")
  @discardableResult
  public func run(
    in mode: Mode = .default, until: Instant, returnAfterSourceHandled: Bool = false
  ) throws -> RunResult {
    try checkOwner("run(in:until:returnAfterSourceHandled:)")
    return try run(in: mode, limit: RunLimit(until: until), returnAfterSourceHandled)
  }

  /// - Parameters:
  ///   - end: Ends the run, besides a stop, the limit and an empty mode.
  ///   - isOneOfAll: True if this is a part of a run of all modes (`runAllModes`). Then an empty mode is not reported.
  ///   - isKept: True if the run begins even if the mode is empty.
  func run(
    in name: Mode, limit: RunLimit, _ returnAfterSourceHandled: Bool, awaiting end: AwaitedEnd? = nil,
    isOneOfAll: Bool = false, isKept: Bool = false
  ) throws -> RunResult {
    var mark: UInt = 0
    if innermostRun.isRunning || owner.hasHostedWait { endLeftRuns(seenFrom: StackPlace(&mark)) }
    lock.lock()
    guard let mode = modeToRun(name), !mode.isPseudoMode, !isEmpty(mode) || isKept else {
      lock.unlock()
      return finishedAtOnce(name, isOneOfAll)
    }
    if isMain || !mode.hasHints { try makePortSetOrUnlock(of: mode) }
    if limit.isEndless, end == nil || end is AwaitedStop, mode.counts.hasTimers { mode.verifyTimers() }
    let outer = state.currentMode
    let outerStop = stops.begin(owner.nextRun())
    state.currentMode = mode
    mode.useCount += 1
    if let outer { beginNesting(in: mode, insideOf: outer, outerStop) }
    mode.ensureTimersAreArmed(on: self)
    let callout = callouts.enclose(on: self)
    lock.unlock()
    // `currentLoop` has set the scopes when it made the loop for this thread.
    let scope = owner.scopes!.height
    let result = withUnsafeMutablePointer(to: &mark) {
      let at = StackPlace($0).address
      $0.pointee = at
      innermostRun.begin(at: at, scope: scope, awaiting: end)
      let result = runBegun(at: at, in: mode, stopAround: outerStop, limit, returnAfterSourceHandled)
      lock.withLock {
        state.currentMode = outer
        mode.useCount -= 1
        if !mode.counts.needDescriptors { mayHaveIdled(mode) }
        callouts.restore(callout, on: self)
        if let outer { outer.ensureTimersAreArmed(on: self) }
      }
      if stops.isQuitting { requestStop() }
      if owner.hasHostedWait { runEndsInHostedWait(at) }
      return result
    }
    guard let result else { throw takeFailure() }
    return result
  }

  @inline(never)
  private func finishedAtOnce(_ name: Mode, _ isOneOfAll: Bool) -> RunResult {
    if name == .common { PseudoModeWarning.printOnce() }
    if !isOneOfAll { explainFinished(name) }
    return .finished
  }

  /// Called under the lock. If it throws, it has released the lock; otherwise the caller still holds it.
  @inline(never)
  private func makePortSetOrUnlock(of mode: ModePointer) throws {
    do {
      try mode.makePortSet(on: self)
    } catch {
      mayHaveIdled(mode)
      lock.unlock()
      throw error
    }
  }

  /// Makes the callouts and the passes of a run (rules 3 and 4). Nil if a wait has failed, or if a callout has forked
  /// and this is the child.
  ///
  /// Stops reach this run even before `currentMode` shows its mode, and until its exit observers have returned. So a
  /// thread that sees the mode can stop the run (rule 19). If the enclosing run was asked to stop before, `stopAround`
  /// keeps that request (rule 20).
  private func runBegun(
    at place: UInt, in mode: ModePointer, stopAround: UInt64, _ limit: RunLimit, _ returnAfterSourceHandled: Bool
  ) -> RunResult? {
    let activation = innermostRun
    if wakes.beginRun(inside: activation.parent) { keepFromWaiting(activation, in: mode) }
    if stops.stopsRunThatBegins() { requestStop() }
    let timing = CalloutTiming(counting: .runs, on: self)

    mode.notify(.entry, insideOf: place, on: self)
    let result =
      takeStop(of: activation)
      ? stoppedAtEntry : runPasses(activation, at: place, in: mode, limit, returnAfterSourceHandled)
    let isForked = endCallouts(of: activation, at: place, in: mode)

    timing.end(on: self)
    // After the outermost run only a host receives wakes. Without a host, the next run drops the posts that come now.
    if let outer = activation.state.outer {
      nestedRunEnds(insideOf: outer, stopAround)
    } else {
      if let counters { counters.pointee.runEnds() }
      if stops.end(stopAround) { endsAskedToStop(activation) }
      activation.state.at = 0
    }
    return isForked ? nil : result
  }

  /// Makes the run's last callouts. True if one of them has forked, and this is the child.
  @inline(__always)
  private func endCallouts(of activation: Activation, at place: UInt, in mode: ModePointer) -> Bool {
    let (hasObservers, height) = (mode.observers.want(.exit), owner.scopes.unsafelyUnwrapped.height)
    mode.notify(.exit, insideOf: place, on: self)
    drainScope(of: activation, at: place)
    return (hasObservers || height > activation.state.scope) && !isInThisProcess
  }

  func drainScope(of activation: Activation, at place: UInt) {
    let scopes = owner.scopes.unsafelyUnwrapped  // not nil: a run has begun
    if scopes.height > activation.state.scope { drain(scopes, to: activation.state.scope, place) }
  }

  @inline(never)
  private func drain(_ scopes: ScopeStack, to height: Int, _ place: UInt) {
    scopes.drain(to: height)
    endRuns(insideOf: place)
  }
}

// MARK: Rare cases, in functions of their own so that a run saves fewer registers

extension RunLoop {
  /// The result of a run that was stopped before its first pass; nil if an entry observer has forked, and this is the
  /// child.
  private var stoppedAtEntry: RunResult? { isInThisProcess ? .stopped : nil }

  @inline(never)
  private func nestedRunEnds(insideOf outer: UnsafeMutablePointer<OuterRun>, _ stopAround: UInt64) {
    wakes.endRun(innermostRun)
    if let run = outer.run { demandPollForJobs(run, in: outer.pointee.mode) } else { counters?.pointee.runEnds() }
    if stops.end(stopAround) { endsAskedToStop(innermostRun) }
    endNesting()
  }

  /// A nested run may have taken the wake for a job that it does not perform. An executor posts no second wake, so the
  /// enclosing run `run` has to poll.
  func demandPollForJobs(_ run: Activation, in mode: ModePointer) {
    guard run.wakes.contains(.accepting) else { return }
    if lock.withLock({ state.companions.hasWork(for: mode) }) { wakes.demandPoll(of: run) }
  }

  @inline(never)
  private func endsAskedToStop(_ activation: Activation) {
    _ = activation.isStopped()
    owner.hosted?.noteStopped(inside: activation.parent?.state.at ?? 0)
  }

  /// The error of a run that has no result.
  @inline(never)
  private func takeFailure() -> any Error { isInThisProcess ? owner.failedWaits.takeError() : RunLoopError.forked }
}
