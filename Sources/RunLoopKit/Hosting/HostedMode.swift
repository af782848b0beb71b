extension ModePointer {
  /// Makes the port set, which the host polls: nothing else ends its sleep. Makes a timerfd also for a mode without
  /// timers. The loop needs it to try a refused registration again while the host sleeps, and there may be no
  /// descriptor for it then.
  func makeHostDescriptors(on loop: RunLoop) throws(RunLoopError) {
    try makePortSet(on: loop)
    // Made in the line above.
    try timers.makePort(.suspending, in: ports.set!, on: loop)
  }

  /// Arms the timerfds, since nothing else ends a host's sleep for a date. Makes one again that other code has closed,
  /// and throws if it cannot. Returns false if the host must not sleep.
  private func armForHost(on loop: RunLoop) throws(RunLoopError) -> Bool {
    loop.lock.lock()
    defer { loop.lock.unlock() }
    armTimers(on: loop)
    if hasArmedRetry(on: loop) { return true }
    try makeHostDescriptors(on: loop)
    return hasArmedRetry(on: loop)
  }

  /// Returns true if the host has to call `runPendingWork`. Else it may sleep, and the loop counts as asleep.
  func findsWorkOrSleeps(on loop: RunLoop) throws(RunLoopError) -> Bool {
    if loop.ownHostedWait?.phase == .asleep {
      // The host has waited, has served other sources than the loop, and is about to wait again.
      try loop.notifyHosted(.afterWaiting, in: self)
    }
    if try hasHostedWork(on: loop) || loop.stops.isRequested { return true }
    try loop.notifyHosted(.beforeWaiting, in: self)
    loop.setPhase(.asleep)
    guard try armForHost(on: loop), loop.beginWait(in: ports.set!), !loop.stops.isRequested else { return true }
    if try hasHostedWork(on: loop) { return true }
    // This poll may have taken the edge of a wake that came meanwhile: the descriptor would not show it again.
    return !loop.wakes.word.isAsleep
  }

  func hasHostedWork(on loop: RunLoop) throws(RunLoopError) -> Bool {
    let hasWork = findsHostedWork(on: loop)
    if loop.owner.failedWaits.failure != 0 { throw loop.owner.failedWaits.takeError() }
    return hasWork
  }

  /// Whether there is work that the descriptor does not show, or not yet: a wake, fetched events, messages, blocks,
  /// signalled sources, due timers.
  private func findsHostedWork(on loop: RunLoop) -> Bool {
    if loop.ownHostedWait != nil, loop.wakes.hasPendingForHost { return true }
    if holdsHostedEvent(on: loop) || hasMessages(on: loop) { return true }
    return loop.lock.withLock {
      loop.state.hasBlocks(for: self) || sources.hasSignalled
        || timers.isDue(soft: false)
        || (loop.owner.mainQueue.isSignalled && loop.servesMainQueue(in: self))
    }
  }

  /// Whether there is a true event, and not only the edge of a wake, or an expiry that is over. Holds it for the next
  /// pass.
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
