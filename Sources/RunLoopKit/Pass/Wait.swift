internal import RunLoopLibc
internal import Synchronization

/// Step (i) of the pass: waits or polls for one event.
extension ModePointer {
  /// Returns one event. A wake is no event (rule 10): it keeps the wait from blocking, and the poll that follows takes
  /// it. An edge of the wakeup port, of a timerfd or of the main queue may be stale; then the wait goes on.
  func awaitEvent(
    of activation: Activation, isPolling: Bool, deadline: UInt64, on loop: RunLoop
  ) -> PassEvent {
    guard loop.isInThisProcess else { return .none }
    var posted = loop.wakes.takeKept(for: activation)
    var event = messages.hasReady ? takeTurn(on: loop) : takeHeldOrFetchedEvent(on: loop)
    let hasPolled = event == nil  // if true, the polls below take the post
    while event == nil {
      let mayBlock =
        !isPolling && posted == .none && loop.wakes.word.isQuiet && !canServeMainQueue(activation, on: loop)
        && !messages.hasReady
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
        continue  // another loop has taken the message meanwhile
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
      // `RunLoop.quit` also posts an interrupt, so this need not read `isQuitting` without a post.
      if let found = event, loop.stops.isQuitting { event = loop.holdBack(found, of: self) }
      var isExpiry = false
      if case .timer? = event { isExpiry = true }
      loop.wakes.settle(posted, of: activation, isExpiry: isExpiry)
    }
    return event ?? .none
  }

  /// Takes an event that a wait has just fetched. A due timer whose timerfd could not be made comes before the fetched
  /// events: no expiry shows its place among them.
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

  /// The result of `poll` if it need not ask the kernel, and the clock says that a timer is due.
  private static var timerIsDue: Int32 { -2 }

  /// Asks the kernel for events without waiting, by at most one system call. Returns how many it has found; less than 0
  /// if the kernel need not be asked, or if the wait has failed for good.
  @inline(__always)
  private func poll(of activation: Activation, on loop: RunLoop) -> Int32 {
    if let answer = answerWithoutPoll(of: activation, on: loop) { return answer }
    loop.owner.skippedPolls = 0
    // A run makes the set of its mode before its first pass (`Running`).
    let found = ports.set!.poll()
    if loop.isMain { noteFetch(found, on: loop) }
    return found >= 0 ? found : hasFailedForGood(found, on: loop) ? -1 : 0
  }

  /// Does what `poll` does, but sleeps until there is an event. Nil if it has not slept, because something was posted,
  /// a timer is due, or it is time to ask epoll again to watch a refused member.
  @inline(never)
  private func sleep(until deadline: UInt64, on loop: RunLoop) -> Int32? {
    let set = ports.set!  // made before the first pass (`Running`)
    var limit = deadline
    // A sleep that has a deadline also ends for the first timer, since other code may have closed the timerfd.
    if !timers.isAtRest || deadline != Time.forever {
      limit = self.limit(of: deadline, on: loop)
      if limit == 0 { return nil }
    }
    guard !spins(until: deadline, on: loop), loop.beginWait(in: set) else { return nil }
    loop.owner.skippedPolls = 0
    if let counters = loop.counters { sleepBegins(counters, on: loop) }
    let found =
      (loop.owner.sleepsInHost ? sleepInHost(until: limit, on: loop) : nil) ?? set.blockingWait(until: limit)
    if loop.isMain { noteFetch(found, on: loop) }
    if let counters = loop.counters { sleepEnds(counters, on: loop) }
    return found >= 0 ? found : hasFailedForGood(found, on: loop) ? -1 : 0
  }

  /// True if every later wait of the loop would fail as well.
  @inline(never)
  func hasFailedForGood(_ status: Int32, on loop: RunLoop) -> Bool {
    let isMended = (status == -EBADF || status == -EINVAL) && loop.lock.withLock { ports.set!.reviveIfLost() }
    guard loop.owner.failedWaits.isForGood(status, isMended: isMended) else { return false }
    loop.lock.withLock { ports.waitFailure = -status }
    return true
  }

  /// Spins if the loop has a `spinLimit`, at most until the first timer is due. True if something was posted, so that
  /// the loop must not sleep.
  @inline(__always)
  private func spins(until deadline: UInt64, on loop: RunLoop) -> Bool {
    loop.wantedSpin.load(ordering: .relaxed) != 0 && loop.spin(until: firstDate(before: deadline, on: loop))
  }

  /// The moment until which the loop may sleep in the kernel. It is earlier than the deadline if no timerfd reports a
  /// timer that is due first, or if the loop has to ask epoll again to watch a refused member. If there is a deadline,
  /// the sleep also ends for the first timer, unless the loop has just armed its timerfd. 0 if the moment has come.
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

  /// The result of `poll` without a system call; nil if `poll` must ask the kernel. In a mode without descriptors the
  /// kernel reports timers only, and the clock says whether one is due. A limit on such polls in a row makes a busy
  /// loop visible in a trace of system calls. A run that serves the main queue skips a poll only while the queue is
  /// quiet, because otherwise the queue may be signalled at any time.
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

  /// Called while a port is marked. Messages and fetched events take turns: this takes a fetched event if the loop
  /// served a message last. Otherwise it takes a message, or a fetched event if there is no message.
  /// - Thread: The loop's own.
  @inline(never)
  private func takeTurn(on loop: RunLoop) -> PassEvent? {
    guard messages.takeKernelsTurn() else {
      return takeMessage(on: loop) ?? takeHeldOrFetchedEvent(on: loop)
    }
    if let event = takeHeldOrFetchedEvent(on: loop) { return event }
    // Drops the marks of empty ports, so that the wait may block.
    loop.lock.withLock { messages.dropEmpty() }
    return nil
  }

  /// Takes a port with a message. Reads `isQuitting` afterwards, because the loop may see a message that was sent after
  /// the stop before it sees the wake of the stop.
  @inline(never)
  private func takeMessage(on loop: RunLoop) -> PassEvent? {
    guard let event = takeReadyPort(on: loop) else { return nil }
    return loop.stops.isQuitting ? loop.holdBack(event, of: self) : event
  }

  /// An event that was found before this pass and held, for a host or after a stop (`holdBack`), comes first.
  @inline(__always)
  private func takeHeldOrFetchedEvent(on loop: RunLoop) -> PassEvent? {
    (loop.owner.holdsHostedEvent ? takeHeldEvent(on: loop) : nil) ?? takeEvent(on: loop)
  }

  @inline(never)
  private func takeHeldEvent(on loop: RunLoop) -> PassEvent? {
    loop.takeHostedEvent(for: self)?.ifStillTrue(in: self, of: loop)
  }

  /// Takes an event that the kernel has not reported: a timer whose expiry has not arrived yet, or that another mode
  /// has taken; a port with a message; the main queue, which comes after all ports and timers (A8).
  @inline(__always)
  private func takeHiddenEvent(of activation: Activation, on loop: RunLoop) -> PassEvent? {
    if timers.mayBeDue, let event = takeUnreportedEvent(on: loop) { return event }
    if messages.hasReady, let event = takeMessage(on: loop) { return event }
    if canServeMainQueue(activation, on: loop), loop.owner.mainQueue.take() { return .mainQueue }
    return nil
  }

  /// Takes an event that epoll does not report: an expiry that has not arrived yet, or the error of a member that epoll
  /// does not watch.
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
