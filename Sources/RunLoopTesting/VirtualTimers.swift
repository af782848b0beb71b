import CRunLoopCore
internal import RunLoopLibc

/// The timer descriptors, which are eventfds: when the clock passes a timer's deadline, `fire` writes to its eventfd.
/// Also the offsets of the other clocks from the monotonic one. Guarded by `Turns.lock`.
struct VirtualTimers {
  struct Armed {
    let fd: Int32
    /// On the monotonic clock, by the present offsets.
    let deadline: UInt64
  }

  private struct Entry {
    let fd: Int32
    let clock: rlc_clock
    /// On the clock `clock`.
    let deadline: UInt64
    let sequence: UInt64
  }

  private var armed: [Entry] = []  // a few for each running loop
  private var clocks: [Int32: rlc_clock] = [:]
  private var sequence: UInt64 = 0
  /// How far the boot-time clock is ahead of the monotonic clock: the suspended time.
  private var suspended: Int64 = 0
  /// How far the wall clock is ahead of the monotonic clock.
  private var wallOffset = VirtualKernel.realtimeOffset

  /// How far a clock is ahead of the monotonic clock.
  func offset(of clock: rlc_clock) -> Int64 {
    switch clock {
    case RLC_CLOCK_BOOTTIME: suspended
    case RLC_CLOCK_REALTIME: wallOffset
    default: 0
    }
  }

  /// The timer with the earliest deadline; among equal deadlines, the timer that was armed first.
  var next: Armed? {
    let first = armed.min { (deadline(of: $0), $0.sequence) < (deadline(of: $1), $1.sequence) }
    return first.map { Armed(fd: $0.fd, deadline: deadline(of: $0)) }
  }

  private func deadline(of entry: Entry) -> UInt64 { entry.deadline.moved(by: -offset(of: entry.clock)) }

  mutating func register(_ fd: Int32, clock: rlc_clock) { clocks[fd] = clock }

  /// Arms a descriptor again or, with `UInt64.max`, disarms it. The deadline is on the descriptor's clock, `now` on the
  /// monotonic one. Erases an expiry that was not read yet, as timerfd_settime(2) does.
  mutating func set(_ fd: Int32, to deadline: UInt64, now: UInt64) {
    disarm(fd)
    var expiries: UInt64 = 0
    _ = read(fd, &expiries, 8)
    guard deadline != .max else { return }
    sequence += 1
    let entry = Entry(fd: fd, clock: clocks[fd] ?? RLC_CLOCK_MONOTONIC, deadline: deadline, sequence: sequence)
    if self.deadline(of: entry) <= now { expire(fd) } else { armed.append(entry) }
  }

  mutating func fire(_ timer: Armed) {
    disarm(timer.fd)
    expire(timer.fd)
  }

  /// Advances all clocks but the monotonic one: the machine was suspended.
  mutating func suspend(for duration: UInt64, now: UInt64) {
    suspended = suspended.later(by: duration)
    wallOffset = wallOffset.later(by: duration)
    wallClockChanged(now: now)
  }

  mutating func setWallClock(to time: UInt64, now: UInt64) {
    wallOffset = Int64(clamping: time) - Int64(clamping: now)
    wallClockChanged(now: now)
  }

  /// Makes all timers on the wall clock readable, and leaves them armed, as TFD_TIMER_CANCEL_ON_SET does. Timers whose
  /// deadlines have now passed expire.
  private mutating func wallClockChanged(now: UInt64) {
    for entry in armed where entry.clock == RLC_CLOCK_REALTIME { expire(entry.fd) }
    while let timer = next, timer.deadline <= now { fire(timer) }
  }

  /// Forgets a descriptor that is about to be closed.
  mutating func forget(_ fd: Int32) {
    disarm(fd)
    clocks[fd] = nil
  }

  private mutating func disarm(_ fd: Int32) {
    armed.removeAll { $0.fd == fd }
  }

  private func expire(_ fd: Int32) {
    var one: UInt64 = 1
    _ = write(fd, &one, 8)
  }
}

extension Int64 {
  /// Returns the sum; `.max` if it overflows.
  fileprivate func later(by duration: UInt64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(Int64(clamping: duration))
    return overflow ? .max : sum
  }
}

extension UInt64 {
  /// Returns the sum; `.max` or 0 if it overflows.
  func moved(by offset: Int64) -> UInt64 {
    let (sum, overflow) =
      offset >= 0 ? addingReportingOverflow(offset.magnitude) : subtractingReportingOverflow(offset.magnitude)
    return overflow ? (offset >= 0 ? .max : 0) : sum
  }
}
