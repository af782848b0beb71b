import CRunLoopCore
internal import RunLoopLibc

/// The timer descriptors: eventfds to which the clock writes when it passes their deadlines; and what the other clocks
/// show while the monotonic one shows something. Guarded by `Turns.lock`.
struct VirtualTimers {
  struct Armed {
    let fd: Int32
    /// On the monotonic clock, as the others stand now.
    let deadline: UInt64
  }

  private struct Entry {
    let fd: Int32
    let clock: rlc_clock
    /// On its clock.
    let deadline: UInt64
    let sequence: UInt64
  }

  private var armed: [Entry] = []  // few: some per loop that is running
  private var clocks: [Int32: rlc_clock] = [:]
  private var sequence: UInt64 = 0
  /// How far the boot-time clock is ahead of the monotonic one: suspended time.
  private var suspended: Int64 = 0
  /// The same of the wall clock.
  private var wallOffset = VirtualKernel.realtimeOffset

  /// How far the clock is ahead of the monotonic one.
  func offset(of clock: rlc_clock) -> Int64 {
    switch clock {
    case RLC_CLOCK_BOOTTIME: suspended
    case RLC_CLOCK_REALTIME: wallOffset
    default: 0
    }
  }

  /// The earliest; among equal ones the one armed first.
  var next: Armed? {
    let first = armed.min { (deadline(of: $0), $0.sequence) < (deadline(of: $1), $1.sequence) }
    return first.map { Armed(fd: $0.fd, deadline: deadline(of: $0)) }
  }

  private func deadline(of entry: Entry) -> UInt64 { entry.deadline.moved(by: -offset(of: entry.clock)) }

  mutating func register(_ fd: Int32, clock: rlc_clock) { clocks[fd] = clock }

  /// Arms anew or, with `UInt64.max`, disarms. The deadline is on the descriptor's clock, `now` on the monotonic one.
  /// An expiry that was not read yet is erased, as timerfd_settime(2) does.
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

  /// The machine was suspended for a while: all clocks have gone on but the monotonic one.
  mutating func suspend(for duration: UInt64, now: UInt64) {
    suspended = suspended.later(by: duration)
    wallOffset = wallOffset.later(by: duration)
    wallClockChanged(now: now)
  }

  mutating func setWallClock(to time: UInt64, now: UInt64) {
    wallOffset = Int64(clamping: time) - Int64(clamping: now)
    wallClockChanged(now: now)
  }

  /// TFD_TIMER_CANCEL_ON_SET: all timers on the wall clock become readable, and stay armed; what its jump has passed
  /// expires.
  private mutating func wallClockChanged(now: UInt64) {
    for entry in armed where entry.clock == RLC_CLOCK_REALTIME { expire(entry.fd) }
    while let timer = next, timer.deadline <= now { fire(timer) }
  }

  /// The descriptor is about to be closed.
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
  /// Saturating.
  fileprivate func later(by duration: UInt64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(Int64(clamping: duration))
    return overflow ? .max : sum
  }
}

extension UInt64 {
  /// Saturating.
  func moved(by offset: Int64) -> UInt64 {
    let (sum, overflow) =
      offset >= 0 ? addingReportingOverflow(offset.magnitude) : subtractingReportingOverflow(offset.magnitude)
    return overflow ? (offset >= 0 ? .max : 0) : sum
  }
}
