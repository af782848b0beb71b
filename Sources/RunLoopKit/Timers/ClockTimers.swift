internal import RunLoopLibc

/// The timers of a mode on one clock: the heap of their deadlines, and a timerfd on that clock. The mode's port set
/// watches the timerfd, so an expiry takes its place among the ready ports at the moment it comes, even during a
/// callout.
///
/// The mode makes the timerfd with the first timer. If no descriptor is free, or if other code closes the timerfd, the
/// mode makes one when it next arms the timers. Without a timerfd the timeout of each wait carries the first date.
struct ClockTimers {
  let heap: TimerHeap
  private var port: TimerPort?
  /// The timerfd's token in the mode's port set; 0 if the set does not watch it yet.
  private var token: UInt64 = 0
  /// The date whose expiry a pass has taken; nil if there is none, since 0 is a date like any other. Until the pass
  /// collects the due timers, the timerfd is not armed for that date again.
  private var taken: UInt64?
  // A number, not the enum, so that an optional `ClockTimers` has its nil in the heap's pointer, which is read anyway.
  private let clockNumber: UInt8

  init(_ clock: RunLoop.TimerClock, _ kernel: Kernel?) throws(RunLoopError) {
    clockNumber = clock.place
    heap = try TimerHeap(kernel)
  }

  /// Called after the mode's port set was destroyed.
  func destroy() {
    heap.destroy()
    port?.destroy()
  }

  var hint: PortSet.Hint {
    switch clock {
    case .suspending: .timer
    case .continuous: .continuousTimer
    case .wall: .wallTimer
    }
  }

  var clock: RunLoop.TimerClock { RunLoop.TimerClock(place: clockNumber) }

  func isOn(_ clock: RunLoop.TimerClock) -> Bool { clockNumber == clock.place }

  // MARK: The timerfd

  var hasPort: Bool { port != nil }

  /// The timerfd's number, and the date for which it is armed. Nil without a timerfd.
  var portState: (fileDescriptor: Int32, armed: UInt64)? { port.map { ($0.fileDescriptor, $0.armed) } }

  /// Makes the timerfd if there is none, and adds it to the mode's port set, if that exists and does not watch it yet.
  mutating func makePort(in set: PortSet?, _ kernel: Kernel?) throws(RunLoopError) {
    guard token == 0 else { return }
    if port == nil { port = try TimerPort(clock, kernel) }
    guard let set else { return }
    do throws(RunLoopError) {
      try enterPort(set)
    } catch {
      // Any other error means that epoll has no room now. The next arming tries again.
      guard [EBADF, EPERM].contains(error.errno) else { throw error }
      losePort(from: set)  // other code has closed the timerfd
      port = try TimerPort(clock, kernel)
      try enterPort(set)
    }
  }

  private mutating func enterPort(_ set: PortSet) throws(RunLoopError) {
    token = try set.insertHint(hint, fileDescriptor: port!.fileDescriptor)  // the caller has made it
  }

  /// Drops a timerfd that other code has closed, and does not close its number: that may belong to another file by now.
  mutating func losePort(from set: PortSet) {
    port?.forgetDescriptor()
    endPort(in: set)
  }

  /// Drops a timerfd that could not be set. Does not close its number if it belongs to another file by now.
  private mutating func portHasFailed(_ status: Int32, in set: PortSet) {
    if status == -EINVAL || !set.isWatched(token) { losePort(from: set) } else { endPort(in: set) }
  }

  private mutating func endPort(in set: PortSet) {
    if token != 0 { set.removeHint(token) }
    port?.destroy()
    (port, token) = (nil, 0)
  }

  /// Drops the timerfd if other code has closed it since it was armed. One system call if it is armed.
  mutating func verifyPort(in set: PortSet) {
    if let port, port.armed != Time.forever, !set.isWatched(token) { losePort(from: set) }
  }

  // MARK: Arming

  /// Returns the heap's date if the timerfd is armed for it (`Time.forever`, if there is no date), 0 if a pass has
  /// taken its expiry, and nil if the timerfd has to be armed or disarmed.
  @inline(__always)
  func armedDate(_ wakeAt: UInt64) -> UInt64? {
    if wakeAt == taken { return 0 }
    return wakeAt == (port?.armed ?? Time.forever) ? wakeAt : nil
  }

  /// Arms the timerfd for the heap's date, and makes one if there is none. Returns the date; 0 if no expiry is needed
  /// for it; nil if no timerfd can be made or armed.
  /// - Parameter sparesPast: If true, and the date has come, returns 0 without arming: the pass reads the clock anyway.
  mutating func arm(for wakeAt: UInt64, in set: PortSet, sparesPast: Bool, on loop: RunLoop) -> UInt64? {
    if wakeAt == taken { return 0 }
    guard wakeAt != Time.forever, token != 0, let port else { return armRarely(in: set, sparesPast, loop.kernel) }
    if sparesPast, wakeAt <= loop.kernel.now(clock) { return 0 }
    if wakeAt > port.armed { port.noteExpiry() }
    let status = port.want(wakeAt)
    if status >= 0 { return wakeAt }
    portHasFailed(status, in: set)
    return armRarely(in: set, false, loop.kernel)
  }

  /// The rest of `arm`: disarms the timerfd, or makes one.
  @inline(never)
  private mutating func armRarely(in set: PortSet, _ sparesPast: Bool, _ kernel: Kernel?) -> UInt64? {
    let wakeAt = heap.wakeAt
    // No timer has a date any more. If the old date's expiry still came, a timer that is set meanwhile would get the
    // place of that expiry among the ready ports (A1 in docs/semantics.md).
    if wakeAt == Time.forever {
      if let status = port?.disarm(), status < 0 { portHasFailed(status, in: set) }
      return wakeAt
    }
    if sparesPast, wakeAt <= kernel.now(clock) { return 0 }
    for _ in 0..<2 {
      guard (try? makePort(in: set, kernel)) != nil, let port else { return nil }
      let status = port.want(wakeAt)
      if status >= 0 { return wakeAt }
      portHasFailed(status, in: set)  // the second iteration makes another timerfd
    }
    return nil
  }

  /// Arms the timerfd for `date`, unless it expires earlier. Returns false if no expiry will come.
  func want(_ date: UInt64) -> Bool { token != 0 && port.map { $0.want(date) >= 0 } ?? false }

  func noteExpiry() { port?.noteExpiry() }

  /// Converts a date on this clock to the suspending clock, as the two stand now.
  func onSuspendingClock(_ date: UInt64, _ now: UInt64, _ kernel: Kernel?) -> UInt64 {
    clock == .suspending ? date : Time.convert(date, from: kernel.now(clock), to: now)
  }

  /// The longest wait, in nanoseconds, that carries a date of another clock. The suspending clock measures the wait,
  /// and does not notice that the other clock was set, or went on while the machine was suspended.
  private static let longestCarried: UInt64 = 1_000_000_000

  /// The date, on the suspending clock, at which a wait must end by itself for the first timer, as no timerfd ends it.
  func carriedDate(now: UInt64, _ kernel: Kernel?) -> UInt64 {
    let date = onSuspendingClock(heap.wakeAt, now, kernel)
    return clock == .suspending ? date : min(date, Time.add(now, Self.longestCarried))
  }

  // MARK: Expiries

  func isDue(soft: Bool) -> Bool {
    let date = soft ? heap.first : heap.wakeAt
    guard date != Time.forever, soft || date != taken else { return false }
    return date <= (isOn(.suspending) ? Kernel.now() : Kernel.now(clock))
  }

  mutating func takeExpiry(soft: Bool) -> Bool {
    guard isDue(soft: soft) else { return false }
    taken = heap.wakeAt
    return true
  }

  mutating func forgetExpiry() { taken = nil }
}
