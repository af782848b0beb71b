internal import RunLoopLibc
internal import Synchronization

/// Step (i) of the pass: waits for one event, or looks for one.
extension RunLoop {
  /// A wake keeps the wait from blocking and is taken by the look that follows; it is no event (rule 10). Edges without
  /// a truth behind them, of the wakeup port, the timer and the main queue, are waited through.
  func awaitEvent(
    _ activation: Activation, isPolling: Bool, deadline: UInt64
  ) -> PassEvent {
    guard isInThisProcess else { return .none }
    let mode = activation.mode
    var posted = wakes.takeKept(for: activation)
    var event = mode.messages.hasReady ? takeTurn(in: mode) : takeHeldOrFetchedEvent(in: mode)
    let hasLooked = event == nil  // each look has taken what was posted
    while event == nil {
      let mayBlock =
        !isPolling && posted == .none && !canServeMainQueue(activation) && !mode.messages.hasReady
      let found = (mayBlock ? sleep(until: deadline, in: mode) : nil) ?? look(in: mode)
      posted = max(posted, wakes.word.take())
      if found < 0 {
        if owner.failedWaits.failure != 0 {
          event = .failed
          break
        }
        guard mode.messages.hasReady else { break }
        event = mode.takeReadyPort(on: self)
        if event != nil || isPolling || posted != .none { break }
        continue  // another loop has taken the message
      }
      event =
        (found > 0 ? mode.takeFetchedEvent(on: self) : mode.takeEvent(on: self))
        ?? takeHiddenEvent(of: activation, in: mode)
      if event != nil || isPolling || posted != .none { break }
      if deadline != Time.forever && deadline <= Kernel.now() { break }
      count(.spuriousWakes)
    }
    if !hasLooked { posted = max(posted, wakes.word.take()) }
    wakes.endWait(of: activation)  // (j)
    if posted != .none {
      var isExpiry = false
      if case .timer? = event { isExpiry = true }
      wakes.settle(posted, of: activation, isExpiry: isExpiry)
    }
    return event ?? .none
  }

  /// At most one system call, which does not wait. How many events that has found; -1 if not even that is needed, or if
  /// the wait has failed for good.
  @inline(__always)
  private func look(in mode: ModePointer) -> Int32 {
    if canSkipLook(in: mode) { return -1 }
    owner.skippedLooks = 0
    // A run begins with making the set of its mode, or finds one (`Running`).
    let found = mode.ports.set!.look()
    return found >= 0 ? found : hasFailedForGood(found, in: mode) ? -1 : 0
  }

  /// The same, until there is an event; nil: something has been posted.
  @inline(never)
  private func sleep(until deadline: UInt64, in mode: ModePointer) -> Int32? {
    let limit = beginSleep(until: deadline, in: mode)
    if limit == 0 { return nil }
    owner.skippedLooks = 0
    if let counters { counters.pointee.sleepBegins() }
    // As above.
    let found = mode.ports.set!.blockingWait(until: limit)
    if let counters { counters.pointee.sleepEnds() }
    return found >= 0 ? found : hasFailedForGood(found, in: mode) ? -1 : 0
  }

  /// True if no later wait of the loop can answer otherwise.
  @inline(never)
  func hasFailedForGood(_ status: Int32, in mode: ModePointer) -> Bool {
    guard owner.failedWaits.isForGood(status) else { return false }
    lock.withLock { mode.ports.waitFailure = -status }
    return true
  }

  /// Until when the loop may sleep in the kernel: earlier than the deadline if epoll does not watch all members. 0: a
  /// wake or kick was posted.
  @inline(__always)
  private func beginSleep(until deadline: UInt64, in mode: ModePointer) -> UInt64 {
    var limit = deadline
    if mode.counts.hasAwaited {
      lock.lock()
      mode.armTimers(on: self)
      if mode.ports.unwatched != nil { limit = max(1, min(deadline, mode.waitLimit)) }
      lock.unlock()
    }
    if wantedSpin.load(ordering: .relaxed) != 0, spin(until: firstDate(before: deadline, in: mode)) {
      return 0
    }
    return wakes.word.beginWait() ? limit : 0
  }

  @inline(never)
  private func firstDate(before deadline: UInt64, in mode: ModePointer) -> UInt64 {
    lock.withLock { min(deadline, mode.timers.wakeAt) }
  }

  /// In a mode without descriptors the kernel can report timers only, and the clock tells whether one is due: if none
  /// is, a poll would find nothing. The number of skipped polls is limited, so that a loop that spins shows in a trace.
  @inline(__always)
  private func canSkipLook(in mode: ModePointer) -> Bool {
    guard owner.skippedLooks < OwnerState.mostSkippedLooks else { return false }
    if isMain || mode.counts.hasAwaited {
      guard lock.withLock({ hasNothingToPoll(in: mode) }) else { return false }
    }
    owner.skippedLooks += 1
    return true
  }

  private func hasNothingToPoll(in mode: ModePointer) -> Bool {
    mode.descriptorCount == 0 && !mode.ports.hasMainQueueHint && !mode.timers.isDue(soft: true)
  }

  /// Whose turn it is if a port is marked: a fetched event's after a message, else the port's. [loop]
  @inline(never)
  private func takeTurn(in mode: ModePointer) -> PassEvent? {
    guard mode.messages.takeKernelsTurn() else {
      return mode.takeReadyPort(on: self) ?? takeHeldOrFetchedEvent(in: mode)
    }
    if let event = takeHeldOrFetchedEvent(in: mode) { return event }
    // So that the wait may block if nothing is left.
    lock.withLock { mode.messages.dropEmpty() }
    return nil
  }

  /// An event that a hosted loop has found before its pass comes first.
  @inline(__always)
  private func takeHeldOrFetchedEvent(in mode: ModePointer) -> PassEvent? {
    owner.hosted.takeEvent(for: mode) ?? mode.takeEvent(on: self)
  }

  /// Events that the wait does not return: a timer whose expiry another mode has taken, or that has not arrived yet; a
  /// port with a message; and the main queue, which comes after all ports and timers (A8).
  @inline(__always)
  private func takeHiddenEvent(of activation: Activation, in mode: ModePointer) -> PassEvent? {
    if mode.counts.hasAwaited {
      lock.lock()
      let isDue = mode.timers.takeExpiry(soft: false)
      let unwatched = !isDue && mode.ports.unwatched != nil ? mode.takeUnwatched() : nil
      lock.unlock()
      if isDue { return .timer }
      if let unwatched { return unwatched }
    }
    if mode.messages.hasReady, let event = mode.takeReadyPort(on: self) { return event }
    if canServeMainQueue(activation) {
      owner.isMainQueuePending = false
      if MainQueuePort.take() { return .mainQueue }
    }
    return nil
  }

  private func canServeMainQueue(_ activation: Activation) -> Bool {
    owner.isMainQueuePending && activation.servesMainQueue
  }
}

/// The waits of a loop that have failed, one soon after the other. [loop]
struct FailedWaits {
  private var count = 0
  private var lastAt: UInt64 = 0
  /// Why the wait has failed that ends a run; 0: none has.
  private(set) var failure: Int32 = 0

  private static let most = 100
  /// Longer than that, in nanoseconds: then they are not one after the other.
  private static let farApart: UInt64 = 10_000_000

  /// False if the wait is to be repeated: a signal has ended it, or memory was short. True if it will always fail:
  /// other code has closed the set's descriptor, or it has failed again and again.
  mutating func isForGood(_ status: Int32) -> Bool {
    if status == -EINTR { return false }
    let now = Kernel.now()
    if now > Time.add(lastAt, Self.farApart) { count = 0 }
    lastAt = now
    count += 1
    let isLasting = [-EBADF, -EINVAL, -EFAULT, -EPERM].contains(status)
    guard isLasting || count > Self.most else { return false }
    count = 0
    failure = -status
    return true
  }

  /// Of the wait that has ended a run.
  @inline(never)
  mutating func takeError() -> RunLoopError {
    defer { failure = 0 }
    return .system(failure, call: "epoll_wait")
  }
}
