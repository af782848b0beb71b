import Foundation
import TestSupport

/// The program, which was built beside the tests. Killed at the latest when it is let go.
final class Chat {
  struct Failure: Error {}

  let port: UInt16
  let lines: Lines
  private let process = Process()
  private let input = Pipe()

  /// Returns when it listens.
  init(_ arguments: String...) throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appendingPathComponent("chat")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    lines = Lines(dup(output.fileHandleForReading.fileDescriptor))
    guard let line = try lines.next(), let port = UInt16(line.dropFirst("listening ".count)) else { throw Failure() }
    self.port = port
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  /// Who comes, after the greeting; and the greeting.
  func visit() throws -> (visitor: Connection, greeting: String?) {
    let visitor = try Connection(to: port)
    return (visitor, try visitor.answers.next())
  }

  /// A line of the operator's.
  func type(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

  /// Without an operator from now on.
  func endInput() throws { try input.fileHandleForWriting.close() }

  func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// What it still says, and its exit status.
  func end() throws -> (rest: [String], status: Int32) {
    let rest = try lines.rest()
    process.waitUntilExit()
    return (rest, process.terminationStatus)
  }
}
