import Glibc

/// This program again, in another role; it reads lines and writes lines.
final class Child {
  let processID: pid_t
  private let input: Int32
  private let output: Int32
  private var status: Int32?

  init(_ words: [String]) {
    let (down, up) = (Child.pipe(), Child.pipe())
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, down.reading, 0)
    posix_spawn_file_actions_adddup2(&actions, up.writing, 1)
    var argv: [UnsafeMutablePointer<CChar>?] = (["hostile-peers"] + words).map { strdup($0) } + [nil]
    defer { argv.forEach { free($0) } }
    var process = pid_t()
    let code = posix_spawn(&process, "/proc/self/exe", &actions, nil, &argv, environ)
    precondition(code == 0, "posix_spawn: error \(code)")
    for end in [down.reading, up.writing] { close(end) }
    (processID, input, output) = (process, down.writing, up.reading)
  }

  private static func pipe() -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    precondition(Glibc.pipe(&ends) == 0, "pipe: error \(errno)")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  func tell(_ line: String) { Lines.write(line, to: input) }

  func line() -> String? { Lines.read(from: output) }

  /// Its exit status, or 128 + the signal that has ended it.
  @discardableResult
  func wait() -> Int32 {
    if let status { return status }
    close(input)
    var ended: Int32 = 0
    while waitpid(processID, &ended, 0) < 0 && errno == EINTR {}
    status = ended & 0x7f == 0 ? ended >> 8 & 0xff : 128 + ended & 0x7f
    return status!
  }

  func kill() { Glibc.kill(processID, SIGKILL) }
}

enum Lines {
  static func write(_ line: String, to descriptor: Int32) {
    _ = (line + "\n").withCString { Glibc.write(descriptor, $0, strlen($0)) }
  }

  /// Nil at the end. There is never more than one line under way.
  static func read(from descriptor: Int32) -> String? {
    var line: [UInt8] = []
    while line.last != 10 {
      var byte: UInt8 = 0
      guard Glibc.read(descriptor, &byte, 1) == 1 else { return nil }
      line.append(byte)
    }
    return String(decoding: line.dropLast(), as: UTF8.self)
  }
}
