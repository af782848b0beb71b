internal import Synchronization

extension RunLoop {
  /// Whether the common modes of the main loop serve the main dispatch queue. True at first; false on every other loop.
  ///
  /// The queue counts as a member: while this is true, a run of the main loop in a common mode never returns
  /// `.finished`. That holds even if the process has no main dispatch queue, so that the libraries that a program is
  /// linked with do not decide whether it ends [RLK-MAIN-1]. Such a run ends by `stop()`, by its limit, or after a
  /// handled source if the caller asked for that.
  ///
  /// While this is false, a common mode may be empty like any other mode. The functions in the queue wait, and so do
  /// the jobs of the main actor, unless the actor has another executor (RunLoopMainExecutor) [RLK-MAIN-2].
  ///
  /// A change takes effect with the next run. After a `wakeUp()` a run that sleeps checks whether its mode is empty.
  /// - Thread: Any; on another loop than the main one setting it does nothing [RLK-MAIN-6].
  /// - Blocks: No.
  /// - Complexity: O(1). CFRunLoop has no such switch.
  public var servesMainQueue: Bool {
    get { isMain && isUsable && lock.withLock { state.servesMainQueue } }
    set {
      guard isMain, isUsable else { return }
      lock.withLock { state.servesMainQueue = newValue }
    }
  }

  /// True if the queue keeps the mode from being empty (rules 2 and 58): on the main loop, in a common mode, and not
  /// inside one of the queue's own functions. Under the lock.
  @inline(__always)
  func isKeptByMainQueue(_ mode: ModePointer) -> Bool {
    isMain && mode.isCommon && state.servesMainQueue && !state.isInMainQueue
  }

  /// True if a run of the mode has a queue to serve. Under the lock.
  func servesMainQueue(in mode: ModePointer) -> Bool {
    isKeptByMainQueue(mode) && MainQueuePort.isThere
  }

  /// The mode of that name, for a run; nil if there is none. A common name that has no mode yet gets one here if the
  /// main queue keeps the mode from being empty (decision 0015). Under the lock.
  @inline(__always)
  func modeToRun(_ name: Mode) -> ModePointer? { state.mode(name) ?? modeKeptByMainQueue(name) }

  @inline(never)
  private func modeKeptByMainQueue(_ name: Mode) -> ModePointer? {
    isKeptByMainQueue(unmade: name) ? state.makeMode(name) : nil
  }

  /// Decides as `isKeptByMainQueue(_:)` does, for a name that has no mode yet. Under the lock.
  func isKeptByMainQueue(unmade name: Mode) -> Bool {
    isMain && state.servesMainQueue && !state.isInMainQueue && state.commonNames.contains(name)
  }

  /// True if a run that begins now serves the queue. Takes the lock on the main loop only.
  func mayServeMainQueue(in mode: ModePointer) -> Bool { isMain && beginServingMainQueue(in: mode) }

  @inline(never)
  private func beginServingMainQueue(in mode: ModePointer) -> Bool { lock.withLock { servesMainQueue(in: mode) } }

  /// True if a run's first pass skips (g), the turn of the queue. The first pass usually skips it, as in CFRunLoop.
  func leavesMainQueue(_ activation: Activation) -> Bool {
    !(activation.servesMainQueue && owner.mainQueue.runBegins())
  }

  func serveMainQueue() -> Bool {
    let at = innermostRun.state.at
    let timing = CalloutTiming(counting: .mainQueueTurns, on: self)
    lock.withLock { state.isInMainQueue = true }
    let hasServed = __RUNLOOPKIT_IS_SERVICING_THE_MAIN_DISPATCH_QUEUE__()
    endRuns(insideOf: at)
    lock.withLock { state.isInMainQueue = false }
    timing.end(nil, .mainQueue, on: self)
    if owner.hasHostedWait { endHostedWaitsOfCallout() }
    owner.mainQueue.hasNoTurn()  // the next pass skips (g)
    return hasServed
  }

  /// Called when an edge of the queue's handle was taken out of a batch. - Thread: The loop's own.
  func mainQueueCame() { owner.mainQueue.edgeCame() }

  /// Called when other code has closed the queue's handle, so that no set reports the queue's signals any more.
  /// - Thread: The loop's own.
  func mainQueueIsLost() { owner.mainQueue.isLost = true }
}

extension ModePointer {
  var watchesMainQueue: Bool { ports.mainQueueToken.load(ordering: .acquiring) != 0 }

  func insertMainQueueHint(on loop: RunLoop) throws(RunLoopError) {
    guard loop.isMain, isCommon, ports.mainQueueToken.load(ordering: .relaxed) == 0, let set = ports.set,
      let descriptor = try MainQueuePort.fileDescriptor()
    else { return }
    do throws(RunLoopError) {
      let token = try set.insertHint(.mainQueue, fileDescriptor: descriptor)
      ports.mainQueueToken.store(token, ordering: .releasing)
    } catch {
      if MainQueuePort.isThere { throw error }  // else the main thread has ended meanwhile, which closes the handle
    }
  }

  /// Called after each fetch of the main loop. Looks for the queue's event among all fetched events, because the next
  /// pass may serve the queue before the other events (rule 7, g). - Thread: The loop's own.
  /// - Parameter found: How many events the fetch has found, or `-errno`.
  @inline(never)
  func noteFetch(_ found: Int32, on loop: RunLoop) {
    if found > 0 { loop.owner.mainQueue.fetchCame() }
    let token = ports.mainQueueToken.load(ordering: .acquiring)
    guard found >= 0, token != 0 else { return }
    let set = ports.set!  // the mode has waited in it
    if set.hasFetched(token) {
      loop.owner.mainQueue.signalCame()
    } else if set.hasFetchedAll {
      loop.owner.mainQueue.hasNotCome()
    }
  }
}
