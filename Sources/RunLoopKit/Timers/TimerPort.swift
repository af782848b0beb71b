internal import CRunLoopCore

/// A timerfd of a mode: a thin owner of `rlc_timer_port`.
struct TimerPort {
  private let port: OpaquePointer

  /// The kernel must outlive the port.
  init(_ clock: RunLoop.TimerClock, _ kernel: Kernel?) throws(RunLoopError) {
    var port: OpaquePointer?
    try RunLoopError.checkCore(rlc_timer_port_create(kernel.table, clock.number, &port))
    self.port = port!  // a create function that returns 0 has set it
  }

  func destroy() { rlc_timer_port_destroy(port) }

  /// Called when other code has closed the descriptor: `destroy` then does not close its number, which may belong to
  /// another file by now.
  func forgetDescriptor() { rlc_kit_forget_timer_fd(port) }

  var fileDescriptor: Int32 { rlc_timer_port_fd(port) }
  var armed: UInt64 { rlc_kit_timer_armed(port) }

  /// Arms the timerfd for `deadline`. No system call if the timerfd is armed for that date or an earlier one. Returns
  /// `-EBADF` if other code has closed the timerfd, and `-EINVAL` if its number belongs to another file by now.
  func want(_ deadline: UInt64) -> Int32 { rlc_timer_port_want(port, deadline) }
  /// Marks the timerfd as not armed, so that `want` sets it: after an expiry, or for a date later than the armed one.
  func noteExpiry() { rlc_timer_port_note_expiry(port) }
  /// Cancels the armed expiry, which would report a timer that is not there. Returns errors as `want` does.
  func disarm() -> Int32 { rlc_timer_port_disarm(port) }
}
