internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

extension RunLoop {
  /// The number of a signal.
  public struct Signal: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The system's number, 1 to 64.
    public let rawValue: Int32

    /// Creates a signal from any number. Functions that take signals throw for numbers that are no signals.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The terminal is gone; by custom, "read your configuration again".
    public static let hangup = Signal(rawValue: SIGHUP)
    /// Control-C.
    public static let interrupt = Signal(rawValue: SIGINT)
    /// Control-backslash.
    public static let quit = Signal(rawValue: SIGQUIT)
    /// The polite request to end.
    public static let terminate = Signal(rawValue: SIGTERM)
    /// Ends a process at once; cannot be received.
    public static let kill = Signal(rawValue: SIGKILL)
    /// A child has ended, stopped or continued. To wait for the end of one child, use `ChildSource`.
    public static let child = Signal(rawValue: SIGCHLD)
    /// For the program's own use.
    public static let user1 = Signal(rawValue: SIGUSR1)
    /// For the program's own use.
    public static let user2 = Signal(rawValue: SIGUSR2)
    /// The alarm clock of alarm(2) and setitimer(2).
    public static let alarm = Signal(rawValue: SIGALRM)
    /// The process has written to a pipe or socket without readers.
    public static let pipe = Signal(rawValue: SIGPIPE)
    /// The terminal has another size.
    public static let windowChange = Signal(rawValue: SIGWINCH)
    /// Continues a stopped process.
    public static let `continue` = Signal(rawValue: SIGCONT)
    /// Control-Z.
    public static let terminalStop = Signal(rawValue: SIGTSTP)

    /// The real-time signal with this number, counted from 0. Real-time signals queue with their values. The kernel
    /// delivers lower numbers first.
    /// - Precondition: The system has this signal; glibc has 0 to 30.
    public static func realtime(_ number: Int32) -> Signal {
      let signal = Signal(rawValue: rlc_signal_realtime_min() + number)
      guard number >= 0 && signal.rawValue <= rlc_signal_realtime_max() else {
        let count = rlc_signal_realtime_max() - rlc_signal_realtime_min() + 1
        fatalError("Signal.realtime(\(number)): there are \(count), from 0 on")
      }
      return signal
    }

    /// True for real-time signals, which queue: each one that is sent is received.
    public var isRealtime: Bool { rawValue >= rlc_signal_realtime_min() && rawValue <= rlc_signal_realtime_max() }

    /// Orders signals by number.
    public static func < (a: Signal, b: Signal) -> Bool { a.rawValue < b.rawValue }

    /// The name, such as `SIGTERM`, or the number.
    public var description: String {
      if isRealtime { return "SIGRTMIN+\(rawValue - rlc_signal_realtime_min())" }
      return Self.names[self].map { "SIG\($0)" } ?? "signal \(rawValue)"
    }

    private static let names: [Signal: String] = [
      .hangup: "HUP", .interrupt: "INT", .quit: "QUIT", .terminate: "TERM", .kill: "KILL", .child: "CHLD",
      .user1: "USR1", .user2: "USR2", .alarm: "ALRM", .pipe: "PIPE", .windowChange: "WINCH", .continue: "CONT",
      .terminalStop: "TSTP", Signal(rawValue: SIGABRT): "ABRT", Signal(rawValue: SIGSEGV): "SEGV",
      Signal(rawValue: SIGBUS): "BUS", Signal(rawValue: SIGILL): "ILL", Signal(rawValue: SIGFPE): "FPE",
      Signal(rawValue: SIGTRAP): "TRAP", Signal(rawValue: SIGSTOP): "STOP",
    ]
  }
}

extension RunLoop.Signal {
  /// Blocks signals in the calling thread, and so in all threads that it creates later. RunLoopKit never unblocks them.
  ///
  /// Signals that a signal source receives must be blocked in every thread, so call this first in `main`. A program
  /// that is started by fork(2) and exec(3) inherits the mask; `RunLoop.ChildSource.spawn` starts one with an empty
  /// mask.
  /// - Parameter signals: At least one.
  /// - Throws: A `RunLoopError`: `.system` with `EINVAL` for an empty list, SIGKILL, SIGSTOP and a number that is no
  ///   signal; the call then blocks no signal.
  /// - Thread: Any; only its own mask changes. - Blocks: No. - SeeAlso: pthread_sigmask(3).
  public static func block(_ signals: RunLoop.Signal...) throws { try block(Set(signals)) }

  /// As `block(_:)` with a list, for a set.
  public static func block(_ signals: Set<RunLoop.Signal>) throws {
    let signals = try SignalSet(signals)
    try RunLoopError.check(rlc_signals_block(signals.bits, nil), "pthread_sigmask", signals.refusal)
    ThreadRecord.existing?.claimedSignals &= ~signals.bits
  }
}
