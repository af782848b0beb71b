import Foundation

/// A process whose lines are awaited, with patience: silence of a minute is an error, not a hang.
final class Program {
  struct Silence: Error, CustomStringConvertible { let description: String }

  private let process = Process()
  private let output = Pipe()
  private let words: [String]
  private var rest: [UInt8] = []
  private(set) var lines: [String] = []

  init(_ words: [String], display: String? = nil) throws {
    self.words = words
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["timeout", "-k", "5", "120"] + words
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["SWIFT_BACKTRACE": "enable=no"].merging(display.map { ["DISPLAY": $0] } ?? [:]) { $1 }
    ) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = display == nil ? FileHandle.nullDevice : nil
    try process.run()
    try output.fileHandleForWriting.close()
  }

  deinit { kill() }

  /// The next line.
  func line() throws -> String {
    guard let line = try nextLine() else { throw Silence(description: "\(words) has ended; it said \(lines)") }
    return line
  }

  /// The next line that is one of these words or begins with them; the ones before it are in `lines`.
  @discardableResult
  func line(beginning words: String) throws -> String {
    while true {
      let line = try line()
      if line.hasPrefix(words) { return line }
    }
  }

  /// Its exit status, after all of its lines.
  func end() throws -> Int32 {
    while try nextLine() != nil {}
    process.waitUntilExit()
    return process.terminationStatus
  }

  func kill() {
    guard process.isRunning else { return }
    process.terminate()
    process.waitUntilExit()
  }

  private func nextLine() throws -> String? {
    while true {
      if let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
        lines.append(String(decoding: rest[..<newline], as: UTF8.self).trimmingCharacters(in: .whitespaces))
        rest.removeFirst(newline + 1)
        return lines.last
      }
      let descriptor = output.fileHandleForReading.fileDescriptor
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, 60_000) > 0 else { throw Silence(description: "\(words) is silent; it said \(lines)") }
      var chunk = [UInt8](repeating: 0, count: 4096)
      let count = read(descriptor, &chunk, chunk.count)
      guard count > 0 else { return nil }
      rest += chunk[..<count]
    }
  }
}
