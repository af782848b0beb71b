internal import RunLoopLibc
internal import Synchronization

/// Step (i) of the pass: waits for one event, or looks for one.
extension ModePointer {
  /// A wake keeps the wait from blocking and is taken by the look that follows; it is no event (rule 10). Edges without
  /// a truth behind them, of the wakeup port, the timer and the main queue, are waited through.
  func awaitEvent(
    of activation: Activation, isPolling: Bool, deadline: UInt64, on loop: RunLoop
  ) -> PassEvent {
    guard loop.isInThisProcess else { return .none }
    var posted = loop.wakes.takeKept(for: activation)
    var event = messages.hasReady ? takeTurn(on: loop) : takeHeldOrFetchedEvent(on: loop)
    let hasPolled = event == nil  // each look has taken what was posted
    while event == nil {
      let mayBlock =
        !isPolling && posted == .none && !canServeMainQueue(activation, on: loop) && !messages.hasReady
      let found = (mayBlock ? sleep(until: deadline, on: loop) : nil) ?? poll(of: activation, on: loop)
      posted = max(posted, loop.wakes.word.take())
      if found < 0 {
        if loop.owner.failedWaits.failure != 0 {
          event = .failed
          break
        }
        if found == Self.timerIsDue, let due = takeUnreportedEvent(on: loop) {
          event = due
          break
        }
        guard messages.hasReady else { break }
        event = takeMessage(on: loop)
        if event != nil || isPolling || posted != .none { break }
        continue  // another loop has taken the message
      }
      event =
        (found > 0 ? takeNewEvent(on: loop) : takeEvent(on: loop))
        ?? takeHiddenEvent(of: activation, on: loop)
      if event != nil || isPolling || posted != .none { break }
      if deadline != Time.forever && deadline <= Kernel.now() { break }
      loop.count(.spuriousWakes)
    }
    if !hasPolled { posted = max(posted, loop.wakes.word.take()) }
    loop.wakes.endWait(of: activation)  // (j)
    if posted != .none {
      // Whoever has told the thread to end has posted a kick: a wait without one need not look.
      if let found = event, loop.stops.isQuitting { event = loop.holdBack(found, of: self) }
      var isExpiry = false
      if case .timer? = event { isExpiry = true }
      loop.wakes.settle(posted, of: activation, isExpiry: isExpiry)
    }
    return event ?? .none
  }

  /// Of what a wait has just found: a timer whose timerfd could not be made comes first, if its date has come. Its
  /// place among the others is not known.
  @inline(__always)
  private func takeNewEvent(on loop: RunLoop) -> PassEvent? {
    (timers.isAtRest ? nil : takeCarriedTimer(on: loop)) ?? takeFetchedEvent(on: loop)
  }

  @inline(never)
  private func takeCarriedTimer(on loop: RunLoop) -> PassEvent? {
    loop.lock.lock()
    defer { loop.lock.unlock() }
    guard timers.carriedDate(loop.kernel) <= Kernel.now() else { return nil }
    return timers.takeExpiry(soft: false) ? .timer : nil
  }

  /// What `look` answers if it need not ask the kernel, and the clock says that a timer is due.
  private static var timerIsDue: Int32 { -2 }

  /// At most one system call, which does not wait. How many events that has found; less than 0 if not even that is
  /// needed, or if the wait has failed for good.
  @inline(__always)
  private func poll(of activation: Activation, on loop: RunLoop) -> Int32 {
    if let answer = answerWithoutPoll(of: activation, on: loop) { return answer }
    loop.owner.skippedPolls = 0
    // A run begins with making the set of its mode, or finds one (`Running`).
    let found = ports.set!.poll()
    if loop.isMain { noteFetch(found, on: loop) }
    return found >= 0 ? found : hasFailedForGood(found, on: loop) ? -1 : 0
  }

  /// The same, until there is an event; nil: something has been posted.
  @inline(never)
  private func sleep(until deadline: UInt64, on loop: RunLoop) -> Int32? {
    // As above.
    let set = ports.set!
    var limit = deadline
    // A wait that has an end anyway also ends for the first timer: other code may have closed the timerfd.
    if !timers.isAtRest || deadline != Time.forever {
      limit = self.limit(of: deadline, on: loop)
      if limit == 0 { return nil }
    }
    guard !spins(until: deadline, on: loop), loop.beginWait(in: set) else { return nil }
    loop.owner.skippedPolls = 0
    if let counters = loop.counters { counters.pointee.sleepBegins() }
    let found =
      (loop.owner.sleepsInHost ? sleepInHost(until: limit, on: loop) : nil) ?? set.blockingWait(until: limit)
    if loop.isMain { noteFetch(found, on: loop) }
    if let counters = loop.counters { counters.pointee.sleepEnds() }
    return found >= 0 ? found : hasFailedForGood(found, on: loop) ? -1 : 0
  }

  /// True if no later wait of the loop can answer otherwise.
  @inline(never)
  func hasFailedForGood(_ status: Int32, on loop: RunLoop) -> Bool {
    let isMended = (status == -EBADF || status == -EINVAL) && loop.lock.withLock { ports.set!.reviveIfLost() }
    guard loop.owner.failedWaits.isForGood(status, isMended: isMended) else { return false }
    loop.lock.withLock { ports.waitFailure = -status }
    return true
  }

  /// True if something was posted, or a timer is due, while the loop spun.
  @inline(__always)
  private func spins(until deadline: UInt64, on loop: RunLoop) -> Bool {
    loop.wantedSpin.load(ordering: .relaxed) != 0 && loop.spin(until: firstDate(before: deadline, on: loop))
  }

  /// Until when the loop may sleep in the kernel: earlier than the deadline if epoll does not watch all members, or if
  /// no timerfd ends the sleep. 0: a timer is due.
  @inline(never)
  private func limit(of deadline: UInt64, on loop: RunLoop) -> UInt64 {
    let restEnd = timers.restEnd
    return restEnd == 0 ? armTimers(until: deadline, on: loop) : min(deadline, restEnd)
  }

  private func armTimers(until deadline: UInt64, on loop: RunLoop) -> UInt64 {
    loop.lock.lock()
    defer { loop.lock.unlock() }
    armTimers(on: loop)
    let first = deadline == Time.forever || timers.isAtRest ? deadline : timers.wakeAt
    let limit = min(deadline, waitLimit(on: loop), first)
    return limit < deadline && limit <= Kernel.now() ? 0 : limit
  }

  @inline(never)
  private func firstDate(before deadline: UInt64, on loop: RunLoop) -> UInt64 {
    loop.lock.withLock { min(deadline, timers.wakeAt) }
  }

  /// In a mode without descriptors the kernel can report timers only, and the clock tells whether one is due. The
  /// number of skipped polls is limited, so that a loop that spins shows in a trace, and serves the main queue: that
  /// may be signalled at any time, and is left out while it is quiet only.
  @inline(__always)
  private func answerWithoutPoll(of activation: Activation, on loop: RunLoop) -> Int32? {
    guard loop.owner.skippedPolls < OwnerState.mostSkippedPolls else { return nil }
    if activation.servesMainQueue, !loop.owner.mainQueue.isLeftOut { return nil }
    if counts.hasWatched { return nil }
    loop.owner.skippedPolls += 1
    return timers.mayBeDue && hasDueTimers(on: loop) ? Self.timerIsDue : -1
  }

  @inline(never)
  private func hasDueTimers(on loop: RunLoop) -> Bool { loop.lock.withLock { timers.isDue(soft: false) } }

  /// Whose turn it is if a port is marked: a fetched event's after a message, else the port's. [loop]
  @inline(never)
  private func takeTurn(on loop: RunLoop) -> PassEvent? {
    guard messages.takeKernelsTurn() else {
      return takeMessage(on: loop) ?? takeHeldOrFetchedEvent(on: loop)
    }
    if let event = takeHeldOrFetchedEvent(on: loop) { return event }
    // So that the wait may block if nothing is left.
    loop.lock.withLock { messages.dropEmpty() }
    return nil
  }

  /// Looked at behind it: what another thread sends after the stop may be here before its kick was seen.
  @inline(never)
  private func takeMessage(on loop: RunLoop) -> PassEvent? {
    guard let event = takeReadyPort(on: loop) else { return nil }
    return loop.stops.isQuitting ? loop.holdBack(event, of: self) : event
  }

  /// An event that a hosted loop has found before its pass comes first.
  @inline(__always)
  private func takeHeldOrFetchedEvent(on loop: RunLoop) -> PassEvent? {
    (loop.owner.holdsHostedEvent ? takeHeldEvent(on: loop) : nil) ?? takeEvent(on: loop)
  }

  @inline(never)
  private func takeHeldEvent(on loop: RunLoop) -> PassEvent? {
    loop.takeHostedEvent(for: self)?.ifStillTrue(in: self, of: loop)
  }

  /// Events that the wait does not return: a timer whose expiry another mode has taken, or that has not arrived yet; a
  /// port with a message; and the main queue, which comes after all ports and timers (A8).
  @inline(__always)
  private func takeHiddenEvent(of activation: Activation, on loop: RunLoop) -> PassEvent? {
    if timers.mayBeDue, let event = takeUnreportedEvent(on: loop) { return event }
    if messages.hasReady, let event = takeMessage(on: loop) { return event }
    if canServeMainQueue(activation, on: loop), loop.owner.mainQueue.take() { return .mainQueue }
    return nil
  }

  /// What epoll does not tell: an expiry that has not arrived yet, an error of what epoll does not watch.
  @inline(never)
  private func takeUnreportedEvent(on loop: RunLoop) -> PassEvent? {
    loop.lock.lock()
    defer { loop.lock.unlock() }
    if timers.takeExpiry(soft: false) { return .timer }
    return ports.unwatched == nil ? nil : takeUnwatched()
  }

  private func canServeMainQueue(_ activation: Activation, on loop: RunLoop) -> Bool {
    loop.owner.mainQueue.isSignalled && activation.servesMainQueue
  }
}
