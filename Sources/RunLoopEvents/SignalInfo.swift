internal import CRunLoopCore
import RunLoopKit

extension RunLoop {
  /// Information about a received signal [RLK-SIGNAL-1].
  public struct SignalInfo: Hashable, Sendable {
    /// The signal.
    public let signal: Signal
    /// How it was sent: `SI_USER` (0) by kill(2), `SI_QUEUE` (-1) by sigqueue(3), positive numbers by the kernel.
    public let code: Int32
    /// The sender's number; for `.child` the child's; 0 if the kernel has sent the signal, or a process outside of the
    /// namespace.
    public let processID: Int32
    /// The real user of the sender.
    public let userID: UInt32
    /// For `.child`: the exit code, or the number of the signal that ended the child.
    public let status: Int32
    /// The number that came with sigqueue(3) or a POSIX timer; else 0.
    public let value: Int32
    /// The same value, as the bits of a pointer.
    public let pointerValue: UInt64

    init(_ info: rlc_signal_info) {
      signal = Signal(rawValue: info.signal)
      code = info.code
      processID = info.process_id
      userID = info.user_id
      status = info.status
      value = info.value
      pointerValue = info.pointer
    }
  }
}
