extension ModePointer {
  /// Makes the port set, which the host polls, and a timerfd, even if the mode has no timers. The timerfd ends the
  /// host's sleep when the loop has to try a refused registration again. It is made now, because the process may have
  /// no descriptor left when a registration is refused.
  func makeHostDescriptors(on loop: RunLoop) throws(RunLoopError) {
    try makePortSet(on: loop)
    // The line above has made the set.
    try timers.makePort(.suspending, in: ports.set!, on: loop)
  }

  /// Arms the timerfds, since nothing else ends a host's sleep at a timer's date. If other code has closed a timerfd
  /// that is needed, makes another one, or throws. Returns false if the host must not sleep.
  private func armForHost(on loop: RunLoop) throws(RunLoopError) -> Bool {
    loop.lock.lock()
    defer { loop.lock.unlock() }
    armTimers(on: loop)
    if hasArmedRetry(on: loop) { return true }
    try makeHostDescriptors(on: loop)
    return hasArmedRetry(on: loop)
  }

  /// Returns true if the host has to call `runPendingWork`. Else the host may sleep, and the loop counts as asleep.
  func findsWorkOrSleeps(on loop: RunLoop) throws(RunLoopError) -> Bool {
    if loop.ownHostedWait?.phase == .asleep {
      // The host has waited and has not called `runPendingWork`. It is about to wait again.
      try loop.notifyHosted(.afterWaiting, in: self)
    }
    if try hasHostedWork(on: loop) || loop.stops.isRequested { return true }
    try loop.notifyHosted(.beforeWaiting, in: self)
    loop.setPhase(.asleep)
    guard try armForHost(on: loop), loop.beginWait(in: ports.set!), !loop.stops.isRequested else { return true }
    if try hasHostedWork(on: loop) { return true }
    // The poll in `hasHostedWork` may have consumed the edge of a wake that came meanwhile. The descriptor does not
    // show that wake again.
    return !loop.wakes.word.isAsleep
  }

  func hasHostedWork(on loop: RunLoop) throws(RunLoopError) -> Bool {
    let hasWork = findsHostedWork(on: loop)
    if loop.owner.failedWaits.failure != 0 { throw loop.owner.failedWaits.takeError() }
    return hasWork
  }

  /// Whether there is work, even if the descriptor does not show it (yet): a wake, fetched events, messages, blocks,
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

  /// Returns whether there is an event to serve, and holds it for the next pass. Wakes do not count, nor do
  /// expiries for which no timer is due.
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
