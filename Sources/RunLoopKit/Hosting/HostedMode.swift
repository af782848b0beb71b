extension ModePointer {
  /// The host polls the port set, and its sleep ends for nothing else. A timerfd also without timers: what the kernel
  /// refuses is tried again while the host sleeps, and then none could be made.
  func makeHostDescriptors(on loop: RunLoop) throws(RunLoopError) {
    try makePortSet(on: loop)
    // Made in the line above.
    try timers.makePort(.suspending, in: ports.set!, on: loop)
  }

  /// Nothing but a timerfd ends a host's sleep for a date: one that other code has closed is made again, or it throws.
  private func armForHost(on loop: RunLoop) throws(RunLoopError) -> Bool {
    loop.lock.lock()
    defer { loop.lock.unlock() }
    armTimers(on: loop)
    if hasArmedRetry(on: loop) { return true }
    try makeHostDescriptors(on: loop)
    return hasArmedRetry(on: loop)
  }

  /// True: call `runPendingWork`. The wait is the host's own.
  func findsWorkOrSleeps(on loop: RunLoop) throws(RunLoopError) -> Bool {
    if loop.ownHostedWait?.phase == .asleep {
      // The host has waited, served others than the loop, and waits anew.
      try loop.tellHosted(.afterWaiting, in: self)
    }
    if try hasHostedWork(on: loop) || loop.stops.isRequested { return true }
    try loop.tellHosted(.beforeWaiting, in: self)
    loop.setPhase(.asleep)
    guard try armForHost(on: loop), loop.beginWait(in: ports.set!), !loop.stops.isRequested else { return true }
    if try hasHostedWork(on: loop) { return true }
    // That look may have taken the edge of a wake that came in between: the descriptor would not show it again.
    return !loop.wakes.word.isAsleep
  }

  func hasHostedWork(on loop: RunLoop) throws(RunLoopError) -> Bool {
    let hasWork = lookForHostedWork(on: loop)
    if loop.owner.failedWaits.failure != 0 { throw loop.owner.failedWaits.takeError() }
    return hasWork
  }

  /// What does not show on the descriptor, or not yet: a wake, fetched events, messages, blocks, signalled sources, due
  /// timers.
  private func lookForHostedWork(on loop: RunLoop) -> Bool {
    if loop.ownHostedWait != nil, loop.wakes.hasPendingForHost { return true }
    if holdsHostedEvent(on: loop) || hasMessages(on: loop) { return true }
    return loop.lock.withLock {
      loop.state.hasBlocks(for: self) || sources.hasSignalled
        || timers.isDue(soft: false)
        || (loop.owner.mainQueue.isSignalled && loop.servesMainQueue(in: self))
    }
  }

  /// An event that is true, not the edge of a wake or an expiry that is over: held for the pass that follows.
  private func holdsHostedEvent(on loop: RunLoop) -> Bool {
    if loop.hostedWaits.hasEvent(for: self) { return true }
    var event = takeEvent(on: loop)
    if event == nil {
      let status = ports.set!.poll()
      if loop.isMain { noteFetch(status, on: loop) }
      if status < 0, hasFailedForGood(status, on: loop) { return false }
      event = takeEvent(on: loop)
    }
    if event == nil { event = loop.lock.withLock { ports.unwatched == nil ? nil : takeUnwatched() } }
    if let event { loop.holdHostedEvent(event, of: self) }
    return event != nil
  }
}
