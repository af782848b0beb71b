/// A loop inside a host's loop: the host polls one descriptor for reading, level-triggered, and calls in around its sleep.
extension RunLoop {
  /// The descriptor of a mode: readable whenever the mode has work; made on first use.
  ///
  /// - Thread: The loop's own. - Throws: `.wrongThread`, `.loopEnded`, `.forked`, `.systemCall`. It stays the loop's: do not
  ///   close it. It lives as long as the loop's thread.
  @available(*, noasync, message: "hosting belongs to a thread")
  public func fileDescriptor(for mode: Mode = .default) throws(RunLoopError) -> Int32 {
    try checkOwner("fileDescriptor(for:)")
    return try hostedMode(mode).pointee.portSet!.fileDescriptor
  }

  /// Before every sleep of the host: notifies before-waiting, arms the timer and marks the loop asleep, so that wakes, stops
  /// and timers set by other threads make the descriptor readable. Between this and `dispatch` the loop counts as waiting in
  /// this mode. Calling it again, also for another mode, is allowed.
  ///
  /// - Returns: True if something can run now: dispatch at once instead of sleeping.
  /// - Thread: The loop's own. - Throws: As `fileDescriptor(for:)`, and `.busy` inside a run.
  @available(*, noasync, message: "hosting belongs to a thread")
  public func prepare(_ mode: Mode = .default) throws(RunLoopError) -> Bool {
    try checkOwner("prepare(_:)")
    guard state.pointee.activation == nil else { throw .busy(call: "prepare(_:)") }
    let hosted = try hostedMode(mode)
    endHostedWait()
    if hasHostedWork(in: hosted, stopped: false) { return true }
    let scopes = ThreadRecord.current.scopes
    let scope = scopes.height
    notify(hosted, .beforeWaiting)
    scopes.drain(to: scope)
    lock.withLock {
      state.pointee.hostedMode = hosted
      state.pointee.currentMode = hosted
      armTimer()
    }
    state.pointee.lastSerial += 1
    stopWord.store(state.pointee.lastSerial << 1, ordering: .sequentiallyConsistent)
    let isAsleep = wakeWord.beginWait()
    return !isAsleep || hasHostedWork(in: hosted, stopped: isStopRequested)
  }

  /// After the descriptor was readable, or `prepare` said true: one run of one pass that does not wait. Without work: no
  /// pass, and `.timedOut`.
  ///
  /// - Returns: `.stopped` after a `stop()` since `prepare`; else as `run(in:for:)` with a limit of zero that returns after a
  ///   source was handled.
  /// - Thread: The loop's own. - Throws: As `prepare`.
  @available(*, noasync, message: "hosting belongs to a thread")
  @discardableResult
  public func dispatch(_ mode: Mode = .default) throws(RunLoopError) -> RunResult {
    try checkOwner("dispatch(_:)")
    guard state.pointee.activation == nil else { throw .busy(call: "dispatch(_:)") }
    let hosted = try hostedMode(mode)
    let wasPrepared = state.pointee.hostedMode != nil
    let (posted, isStopped) = endHostedWait()
    if wasPrepared { notify(hosted, .afterWaiting) }
    if posted == .none, !isStopped, !hasHostedWork(in: hosted, stopped: false) { return .timedOut }
    let result = try run(in: mode, limit: RunLimit(.zero), true)
    return isStopped ? .stopped : result
  }

  private func hostedMode(_ name: Mode) throws(RunLoopError) -> ModePointer {
    guard name != .common else { throw .noMode }
    lock.lock()
    defer { lock.unlock() }
    let mode = state.pointee.makeMode(name)
    try makePortSet(of: mode)
    return mode
  }

  @discardableResult
  private func endHostedWait() -> (posted: WakeWord.Posted, isStopped: Bool) {
    guard state.pointee.hostedMode != nil else { return (.none, false) }
    let posted = wakeWord.take()
    let word = stopWord.exchange(0, ordering: .sequentiallyConsistent)
    lock.withLock {
      state.pointee.hostedMode = nil
      state.pointee.currentMode = nil
    }
    return (posted, word & 1 != 0)
  }

  /// What would not show on the descriptor, or not yet: fetched events, blocks, signalled sources, due timers.
  private func hasHostedWork(in mode: ModePointer, stopped: Bool) -> Bool {
    if stopped { return true }
    let set = mode.pointee.portSet!
    if !set.hasBatch { set.look() }
    if set.hasBatch { return true }
    if state.pointee.isMainQueuePending && servesMainQueue(in: mode) { return true }
    return lock.withLock {
      state.pointee.hasBlocks(for: mode) || mode.pointee.sources.contains { $0.source.isSignalled }
        || hasDueTimers(in: mode, soft: false)
    }
  }
}
