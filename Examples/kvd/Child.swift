import Glibc
import RunLoopKit

/// This program once more, with other arguments, as a child process. One at a time.
final class Child {
  /// How it has ended.
  enum Outcome: Equatable, CustomStringConvertible {
    case exited(code: Int32)
    case killed(signal: Int32)

    var isSuccess: Bool { self == .exited(code: 0) }

    var description: String {
      switch self {
      case .exited(let code): "exited with code \(code)"
      case .killed(let signal): signal == SIGKILL ? "ended by SIGKILL" : "ended by signal \(signal)"
      }
    }
  }

  let processID: Int32
  private let body: (Outcome) -> Void

  /// - Parameter body: Called when it has ended; until then this must be kept.
  init(arguments: [String], _ body: @escaping (Outcome) -> Void) throws {
    self.body = body
    var argv: [UnsafeMutablePointer<CChar>?] = (["kvd"] + arguments).map { strdup($0) } + [nil]
    defer { argv.forEach { free($0) } }
    var process = pid_t()
    let code = posix_spawn(&process, "/proc/self/exe", nil, nil, &argv, nil)
    guard code == 0 else { throw Failure.system("posix_spawn", code) }
    processID = process
  }

  func kill() { _ = Glibc.kill(processID, SIGKILL) }

  /// After SIGCHLD. Does nothing if it still runs.
  func reap() {
    var status: Int32 = 0
    guard waitpid(processID, &status, WNOHANG) == processID else { return }
    body(status & 0x7f == 0 ? .exited(code: status >> 8 & 0xff) : .killed(signal: status & 0x7f))
  }
}
