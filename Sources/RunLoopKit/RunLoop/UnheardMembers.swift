// Members of modes that epoll does not watch (`Unheard`).

extension RunLoop {
  /// Out of the wait, or back. Under the lock.
  @inline(__always)
  func setMuted(_ isMuted: Bool, _ item: Item, _ token: UInt64, in mode: ModePointer) {
    guard let set = mode.pointee.portSet else { return }
    if !set.setMuted(isMuted, token: token) { noteUnheard(item, in: mode) }
    if set.hasUnheard { wakeWord.kick() }
  }

  /// `item`: whom it has happened to; nil: somebody. Under the lock.
  @inline(never)
  func noteUnheard(_ item: Item?, in mode: ModePointer) {
    var unheard = mode.pointee.unheard ?? Unheard()
    unheard.append(item)
    mode.pointee.unheard = unheard
    wakeWord.kick()  // another thread may have done it, and the loop sleep
  }

  /// The item's descriptor was closed while it was a member: a descriptor source is told by an error alone, the others, whose
  /// handlers would take that for an event, on standard error. Under the lock.
  @inline(never)
  func takeLost(_ item: Item) -> PassEvent? {
    if item.kind == .descriptorSource { return .port(item, ready: PortRegistration.failed) }
    // Proof: `Item.Kind`. Nothing else is in a port set.
    let number = unsafeDowncast(item, to: DescriptorItem.self).fileDescriptor
    let name = item.kind == .portSource ? "a port source" : "an event source"
    let why = "its descriptor \(number) was closed while it was a member"
    StandardError.write("RunLoopKit: \(name)\(item.labelText) hears nothing any more: \(why)\n")
    return nil
  }

  /// The loop's own descriptor was closed. Timers are done without theirs. Under the lock.
  @inline(never)
  func noteLost(_ hint: PortSet.Hint, in mode: ModePointer) {
    switch hint {
    case .timer, .continuousTimer, .wallTimer: noteDeafTimers(in: mode)
    case .wakeup: StandardError.write("RunLoopKit: a sleeping loop cannot be woken any more: its eventfd was closed\n")
    case .mainQueue:
      StandardError.write("RunLoopKit: the main queue does not wake the loop any more: its eventfd was closed\n")
    }
  }

  /// A mode's timerfd could not be armed. Under the lock.
  @inline(never)
  func noteDeafTimers(in mode: ModePointer) {
    var unheard = mode.pointee.unheard ?? Unheard()
    guard !unheard.hasDeafTimers else {
      if !isCurrent { wakeWord.kick() }  // its sleep has a limit that may be later than the new date
      return
    }
    unheard.hasDeafTimers = true
    mode.pointee.unheard = unheard
    wakeWord.kick()
  }

  /// Until when a wait may last. Under the lock.
  @inline(never)
  func unheardLimit(of mode: ModePointer) -> UInt64 {
    let unheard = mode.pointee.unheard!
    guard unheard.hasDeafTimers else { return unheard.retryAt }
    let own = mode.pointee.timerHeap?.wakeAt ?? Time.forever
    return min(unheard.retryAt, own, otherClocksWake(of: mode))
  }

  /// The mode's timerfd ends the sleep of a host when something is to be told or tried again. False if it cannot: the host is not
  /// to sleep. Under the lock.
  func hasArmedRetry(of mode: ModePointer) -> Bool {
    guard let unheard = mode.pointee.unheard else { return true }
    if unheard.hasDeafTimers { return unheardLimit(of: mode) == Time.forever }
    return unheard.retryAt == Time.forever || mode.pointee.timerPort?.want(unheard.retryAt) == true
  }

  /// Tells the next one, or tries again if it is time to. Under the lock.
  @inline(never)
  func takeUnheard(in mode: ModePointer) -> PassEvent? {
    if let item = mode.pointee.unheard!.takeUntold() {
      return .port(item, ready: FileDescriptorSource.Readiness.error.rawValue)
    }
    let now = Kernel.now()
    guard mode.pointee.unheard!.retryAt <= now else { return nil }
    if !mode.pointee.portSet!.retry() {
      mode.pointee.unheard!.hasFailedAgain(now: now)
    } else if mode.pointee.unheard!.hasDeafTimers {
      mode.pointee.unheard!.retryAt = Time.forever
    } else {
      mode.pointee.unheard = nil
    }
    return nil
  }
}
