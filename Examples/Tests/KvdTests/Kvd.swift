import Glibc
import TestSupport

/// A `kvd` that runs: the executable that was built beside the tests. Killed at the latest when it is let go.
final class Kvd {
  struct Failure: Error, CustomStringConvertible { let description: String }

  let processID: pid_t
  private(set) var port: UInt16 = 0
  /// What it says on standard error.
  let notes: Lines
  private let output: Lines
  private var status: Int32?

  /// Starts it, and returns when it listens, which is when it has read its log.
  convenience init(in directory: Directory, limits: String = "") throws {
    try self.init(arguments: ["--port", "0", "--dir", directory.path], limits: limits)
    guard let line = try output.next(), line.hasPrefix("listening "), let port = UInt16(line.dropFirst(10)) else {
      throw Failure(description: "it does not listen: \(try notes.rest())")
    }
    self.port = port
  }

  /// - Parameter limits: Commands of the shell that starts it, like `ulimit -n 40`.
  init(arguments: [String], limits: String = "") throws {
    let (out, complaint) = (makePipe(), makePipe())
    // What nobody reads must not stop it.
    _ = fcntl(complaint.reading, setPipeSize, 1 << 20)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, out.writing, 1)
    posix_spawn_file_actions_adddup2(&actions, complaint.writing, 2)
    let words = ["/bin/sh", "-c", "\(limits.isEmpty ? ":" : limits) && exec \"$0\" \"$@\"", Self.path] + arguments
    var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var envp: [UnsafeMutablePointer<CChar>?] = Self.environment.map { strdup($0) } + [nil]
    defer { (argv + envp).forEach { free($0) } }
    var process = pid_t()
    let code = posix_spawn(&process, "/bin/sh", &actions, nil, &argv, &envp)
    close(out.writing)
    close(complaint.writing)
    (output, notes) = (Lines(out.reading), Lines(complaint.reading))
    processID = process
    guard code == 0 else { throw Failure(description: "posix_spawn: error \(code)") }
  }

  deinit { if status == nil { kill() } }

  func send(_ signal: Int32) { Glibc.kill(processID, signal) }

  /// The exit status; 128 + the signal's number.
  func wait() -> Int32 {
    if let status { return status }
    var ended: Int32 = 0
    while waitpid(processID, &ended, 0) < 0 && errno == EINTR {}
    let status = ended & 0x7f == 0 ? ended >> 8 & 0xff : 128 + ended & 0x7f
    self.status = status
    return status
  }

  /// As a crash would. It is gone when this returns.
  func kill() {
    send(SIGKILL)
    _ = wait()
  }

  /// What /proc has in one of its lines.
  func number(_ name: String, in file: String) -> Int? {
    guard let text = readWhole("/proc/\(processID)/\(file)") else { return nil }
    for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
      return Int(line.split { $0 == " " || $0 == "\t" }[1])
    }
    return nil
  }

  private static var environment: [String] {
    let names = ["PATH", "LD_LIBRARY_PATH", "RUNLOOPKIT_DIAGNOSTICS", "TSAN_OPTIONS"]
    // AddressSanitizer keeps 256 MB of freed memory back, unless it is told to keep less: tests measure what the daemon uses.
    let address = getenv("ASAN_OPTIONS").map { String(cString: $0) + ":" } ?? ""
    return ["SWIFT_BACKTRACE=enable=no", "ASAN_OPTIONS=\(address)quarantine_size_mb=1"]
      + names.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
  }

  private static let path: String = {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let length = readlink("/proc/self/exe", &buffer, buffer.count)
    let test = String(decoding: buffer[..<max(0, length)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return test.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/kvd"
  }()
}

/// F_SETPIPE_SZ, which the Glibc module leaves out.
private let setPipeSize: Int32 = 1031

private func makePipe() -> (reading: Int32, writing: Int32) {
  var ends: [Int32] = [-1, -1]
  precondition(pipe(&ends) == 0, "pipe: error \(errno)")
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  return (ends[0], ends[1])
}

func readWhole(_ path: String) -> String? {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var text: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 65536)
  while case let count = read(descriptor, &chunk, chunk.count), count > 0 { text += chunk[..<count] }
  return String(decoding: text, as: UTF8.self)
}
