import Foundation

/// An example, which was built beside the tests.
struct Program {
  struct Outcome {
    let output: String
    let complaint: String
    /// The exit status; 128 + the signal's number; 124 when it has not ended within a minute.
    let status: Int32
  }

  /// Where its standard output goes.
  enum Output: String {
    case collected = "&1"
    case full = "/dev/full"
    case closed = "&-"
  }

  let name: String

  /// Runs it to its end. Blocks the calling thread.
  /// - Parameter limit: A command of the shell before it.
  /// - Parameter starter: A command that becomes it.
  func run(
    _ arguments: [String] = [], to target: Output = .collected, limit: String = ":", by starter: String = ""
  ) throws -> Outcome {
    let (output, complaint) = (Pipe(), Pipe())
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let path = tests.deletingLastPathComponent().appendingPathComponent(name).path
    let command = "\(limit); exec timeout -k 5 60 \(starter) \"$0\" \"$@\" >\(target.rawValue)"
    process.arguments = ["-c", command, path] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = complaint
    try process.run()
    // A complaint is a few lines, and fits the pipe.
    let texts = [output, complaint].map { pipe in
      String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
    process.waitUntilExit()
    return Outcome(output: texts[0], complaint: texts[1], status: process.terminationStatus)
  }
}
