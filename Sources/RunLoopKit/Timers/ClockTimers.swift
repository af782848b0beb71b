internal import RunLoopLibc

/// The timers of a mode on one clock: their deadlines, and a timerfd on that clock, which is in the mode's port set, so
/// that an expiry has its place among the ready ports, whatever runs at that moment.
///
/// The timerfd is made with the first timer, or as soon as there is a descriptor for it; one that other code has closed
/// is made again. While there is none the timeout of each wait carries the first date.
struct ClockTimers {
  let heap: TimerHeap
  private var port: TimerPort?
  /// The timerfd's in the mode's port set; 0: the set does not watch it yet.
  private var token: UInt64 = 0
  /// A pass has taken the expiry for this date and is about to fire what is due: no nested run is woken for that date
  /// again.
  private var taken: UInt64 = 0
  // A number, so that nil shows in the heap's pointer, which is read anyway.
  private let clockNumber: UInt8

  init(_ clock: RunLoop.TimerClock, _ kernel: Kernel?) throws(RunLoopError) {
    clockNumber = clock.place
    heap = try TimerHeap(kernel)
  }

  /// After its mode's port set.
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

  /// Only for a queue whose clock is set.
  @inline(__always)
  var clock: RunLoop.TimerClock { RunLoop.TimerClock(place: clockNumber) }

  @inline(__always)
  func isOn(_ clock: RunLoop.TimerClock) -> Bool { clockNumber == clock.place }

  // MARK: The timerfd

  var hasPort: Bool { port != nil }

  /// The timerfd, and for when it is armed.
  var portState: (fileDescriptor: Int32, armed: UInt64)? { port.map { ($0.fileDescriptor, $0.armed) } }

  /// Makes the timerfd, and has the mode's port set watch it, if there is one; nothing if both are so.
  mutating func makePort(in set: PortSet?, _ kernel: Kernel?) throws(RunLoopError) {
    guard token == 0 else { return }
    if port == nil { port = try TimerPort(clock, kernel) }
    guard let set else { return }
    do throws(RunLoopError) {
      try enterPort(set)
    } catch {
      // Other than these: epoll has no room for it now.
      guard [EBADF, EPERM].contains(error.errno) else { throw error }
      losePort(from: set)  // other code has closed it before
      port = try TimerPort(clock, kernel)
      try enterPort(set)
    }
  }

  private mutating func enterPort(_ set: PortSet) throws(RunLoopError) {
    // Made by the caller.
    token = try set.insertHint(hint, fileDescriptor: port!.fileDescriptor)
  }

  /// Other code has closed the timerfd, whose number may be another file's by now.
  mutating func losePort(from set: PortSet) {
    port?.forgetDescriptor()
    endPort(in: set)
  }

  /// The timerfd could not be set.
  private mutating func portHasFailed(_ status: Int32, in set: PortSet) {
    if status == -EINVAL || !set.isWatched(token) { losePort(from: set) } else { endPort(in: set) }
  }

  private mutating func endPort(in set: PortSet) {
    if token != 0 { set.removeHint(token) }
    port?.destroy()
    (port, token) = (nil, 0)
  }

  /// Other code may have closed the timerfd since it was armed. One system call, if it is armed.
  mutating func verifyPort(in set: PortSet) {
    if let port, port.armed != Time.forever, !set.isWatched(token) { losePort(from: set) }
  }

  // MARK: Arming

  /// The heap's date, if the timerfd is armed for it; never: there is no date. 0: a pass has taken its expiry. Nil if
  /// there is something to do.
  @inline(__always)
  func armedDate(_ wakeAt: UInt64) -> UInt64? {
    // The expiry that a pass has taken is not asked for again.
    if wakeAt == taken { return 0 }
    return wakeAt == (port?.armed ?? Time.forever) ? wakeAt : nil
  }

  /// Arms the timerfd for the heap's date, and makes it if necessary; as `armedDate`. Nil if there is no timerfd to be
  /// had.
  /// - Parameter sparesPast: A date that has come is left to the pass, which asks the clock: then 0.
  @inline(__always)
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

  /// The same, if the timerfd is to be disarmed or made.
  @inline(never)
  private mutating func armRarely(in set: PortSet, _ sparesPast: Bool, _ kernel: Kernel?) -> UInt64? {
    let wakeAt = heap.wakeAt
    // The first timer is gone or was moved out: no expiry at its old date (A1), whose place the next timer would take.
    if wakeAt == Time.forever {
      if let status = port?.disarm(), status < 0 { portHasFailed(status, in: set) }
      return wakeAt
    }
    if sparesPast, wakeAt <= kernel.now(clock) { return 0 }
    for _ in 0..<2 {
      guard (try? makePort(in: set, kernel)) != nil, let port else { return nil }
      let status = port.want(wakeAt)
      if status >= 0 { return wakeAt }
      portHasFailed(status, in: set)  // another one is made
    }
    return nil
  }

  /// Wants an expiry at that date besides those of timers. False if there will be none.
  func want(_ date: UInt64) -> Bool { token != 0 && port.map { $0.want(date) >= 0 } ?? false }

  func noteExpiry() { port?.noteExpiry() }

  /// A date of this clock on the suspending one, as the two stand now.
  func onSuspendingClock(_ date: UInt64, _ now: UInt64, _ kernel: Kernel?) -> UInt64 {
    clock == .suspending ? date : Time.convert(date, from: kernel.now(clock), to: now)
  }

  /// How long a wait may last that carries a date of another clock, in nanoseconds: its end is on the suspending clock,
  /// which does not follow when that one is set, or goes on in a suspended machine.
  private static let longestCarried: UInt64 = 1_000_000_000

  /// When a wait has to end by itself for the first timer, whose timerfd will not end it: on the suspending clock.
  func carriedDate(now: UInt64, _ kernel: Kernel?) -> UInt64 {
    let date = onSuspendingClock(heap.wakeAt, now, kernel)
    return clock == .suspending ? date : min(date, Time.add(now, Self.longestCarried))
  }

  // MARK: Expiries

  @inline(__always)
  func isDue(soft: Bool) -> Bool {
    let date = soft ? heap.first : heap.wakeAt
    guard date != Time.forever, soft || date != taken else { return false }
    return date <= (isOn(.suspending) ? Kernel.now() : Kernel.now(clock))
  }

  @inline(__always)
  mutating func takeExpiry(soft: Bool) -> Bool {
    guard isDue(soft: soft) else { return false }
    taken = heap.wakeAt
    return true
  }

  @inline(__always)
  mutating func forgetExpiry() { taken = 0 }
}
