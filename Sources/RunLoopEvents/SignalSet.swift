internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

/// A set of signals: bit n - 1 is signal n, as in the core.
struct SignalSet {
  private(set) var bits: UInt64 = 0

  /// - Throws: `.system` with `EINVAL` for a number that is no signal.
  init(_ signals: some Sequence<RunLoop.Signal>) throws(RunLoopError) {
    for signal in signals {
      guard 1...64 ~= signal.rawValue else {
        throw .system(EINVAL, "\(signal.rawValue) is no signal: they are 1 to 64")
      }
      bits |= 1 << UInt64(signal.rawValue - 1)
    }
  }

  /// Why the system refuses to let a process receive the signals, for errors; nil if no reason is known here.
  var refusal: String? {
    if bits == 0 { return "no signal was named" }
    for signal in [RunLoop.Signal.kill, RunLoop.Signal(rawValue: SIGSTOP)] where contains(signal) {
      return "\(signal) cannot be blocked or received by anybody"
    }
    let reserved = signals.first { $0.rawValue >= 32 && $0.rawValue < rlc_signal_realtime_min() }
    return reserved.map { "signal \($0.rawValue) is the C library's own" }
  }

  init(bits: UInt64) { self.bits = bits }

  static let child = SignalSet(bits: 1 << UInt64(SIGCHLD - 1))

  func contains(_ signal: RunLoop.Signal) -> Bool { bits >> UInt64(signal.rawValue - 1) & 1 != 0 }

  var signals: [RunLoop.Signal] { (1...64).map { RunLoop.Signal(rawValue: $0) }.filter { contains($0) } }
}
