internal import CRunLoopCore
import RunLoopKit

extension RunLoop {
  /// How a child process has ended [RLK-CHILD-2].
  public enum ExitStatus: Hashable, Sendable, CustomStringConvertible {
    /// The process has exited with this code, 0 to 255.
    case exited(code: Int32)
    /// A signal has ended the process.
    case signalled(Signal, coreDumped: Bool)
    /// The process has ended, but its exit status is not known: other code of this process has waited for it, or it is
    /// no child of this process.
    case unknown

    /// True for exit code 0.
    public var isSuccess: Bool { self == .exited(code: 0) }

    /// The status in words.
    public var description: String {
      switch self {
      case .exited(let code): "exited with code \(code)"
      case .signalled(let signal, let coreDumped): "ended by \(signal)\(coreDumped ? ", memory dumped" : "")"
      case .unknown: "ended, exit status unknown"
      }
    }
  }
}

extension RunLoop.ExitStatus {
  init(_ exit: rlc_process_exit) {
    switch exit.end {
    case RLC_PROCESS_EXITED: self = .exited(code: exit.number)
    case RLC_PROCESS_DUMPED: self = .signalled(RunLoop.Signal(rawValue: exit.number), coreDumped: true)
    default: self = .signalled(RunLoop.Signal(rawValue: exit.number), coreDumped: false)
    }
  }
}
