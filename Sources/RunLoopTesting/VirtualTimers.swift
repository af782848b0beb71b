import CRunLoopCore
import Glibc

/// The timer descriptors: eventfds to which the clock writes when it passes their deadlines. Guarded by `Turns.lock`.
struct VirtualTimers {
  struct Armed {
    let fd: Int32
    let deadline: UInt64
    fileprivate let sequence: UInt64
  }

  private var armed: [Armed] = []  // few: one per loop that is running
  private var wallClockTimers: Set<Int32> = []
  private var sequence: UInt64 = 0

  /// The earliest; among equal ones the one armed first.
  var next: Armed? {
    armed.min { ($0.deadline, $0.sequence) < ($1.deadline, $1.sequence) }
  }

  /// A new descriptor. The boot-time clock equals the monotonic one.
  mutating func register(_ fd: Int32, clock: rlc_clock) {
    if clock == RLC_CLOCK_REALTIME { wallClockTimers.insert(fd) }
  }

  /// Arms anew or, with `UInt64.max`, disarms. The deadline is on the descriptor's clock, `now` on the monotonic one. An expiry that nobody has seen is erased, as timerfd_settime(2) does.
  mutating func set(_ fd: Int32, to deadline: UInt64, now: UInt64) {
    disarm(fd)
    var expiries: UInt64 = 0
    _ = read(fd, &expiries, 8)
    guard deadline != .max else { return }
    var deadline = deadline
    if wallClockTimers.contains(fd) { deadline -= min(deadline, VirtualKernel.realtimeOffset) }
    sequence += 1
    let timer = Armed(fd: fd, deadline: deadline, sequence: sequence)
    if deadline <= now { expire(timer) } else { armed.append(timer) }
  }

  mutating func fire(_ timer: Armed) {
    disarm(timer.fd)
    expire(timer)
  }

  /// The descriptor is about to be closed.
  mutating func forget(_ fd: Int32) {
    disarm(fd)
    wallClockTimers.remove(fd)
  }

  private mutating func disarm(_ fd: Int32) {
    armed.removeAll { $0.fd == fd }
  }

  private func expire(_ timer: Armed) {
    var one: UInt64 = 1
    _ = write(timer.fd, &one, 8)
  }
}
