internal import CRunLoopCore

/// A timerfd of a mode: a thin owner of `rlc_timer_port`.
struct TimerPort {
  private let port: OpaquePointer

  /// The kernel must outlive it.
  init(_ clock: RunLoop.TimerClock, _ kernel: Kernel?) throws(RunLoopError) {
    var port: OpaquePointer?
    try RunLoopError.checkCore(rlc_timer_port_create(kernel.table, clock.number, &port))
    // A create function of the core that answers 0 has set it.
    self.port = port!
  }

  func destroy() { rlc_timer_port_destroy(port) }

  /// Other code has closed the number, which may be another file's by now: `destroy` leaves it alone.
  func forgetDescriptor() { rlc_kit_forget_timer_fd(port) }

  var fileDescriptor: Int32 { rlc_timer_port_fd(port) }
  var armed: UInt64 { rlc_kit_timer_armed(port) }

  /// No system call unless `deadline` is earlier than what is armed. Less than 0: `-EBADF` if other code has closed the
  /// timerfd, `-EINVAL` if its number is another file's by now.
  func want(_ deadline: UInt64) -> Int32 { rlc_timer_port_want(port, deadline) }
  /// An expiry has been taken from a set.
  func noteExpiry() { rlc_timer_port_note_expiry(port) }
  /// What is not disarmed is an expiry that is not true. Less than 0 as for `want`.
  func disarm() -> Int32 { rlc_timer_port_disarm(port) }
}
