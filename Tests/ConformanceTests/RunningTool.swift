import Glibc

/// The `runloop` executable while it runs: its output line by line, and signals to it. Ended with this, if not before.
final class RunningTool {
  let pid: pid_t
  private let output: Int32
  private var unread: [UInt8] = []
  private var hasEnded = false

  init(_ arguments: [String], environment: [String: String] = [:]) {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0, "pipe: error \(errno)")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let complaint = open("/dev/null", O_WRONLY | O_CLOEXEC)
    defer {
      close(ends[1])
      close(complaint)
    }
    output = ends[0]
    pid = Tool().start(arguments, environment: environment, output: ends[1], complaint: complaint)
  }

  /// The next line; nil at the end of its output, or if nothing comes for a minute.
  func line() -> String? {
    while true {
      if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        defer { unread.removeFirst(end + 1) }
        return String(decoding: unread[..<end], as: UTF8.self)
      }
      var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, 60_000) > 0 else { return nil }
      var chunk = [UInt8](repeating: 0, count: 4096)
      let count = read(output, &chunk, chunk.count)
      guard count > 0 else { return nil }
      unread += chunk[..<count]
    }
  }

  func send(_ signal: Int32) { kill(pid, signal) }

  /// Its exit status; 128 + the signal's number.
  func wait() -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    hasEnded = true
    return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
  }

  deinit {
    if !hasEnded {
      send(SIGKILL)
      _ = wait()
    }
    close(output)
  }
}
