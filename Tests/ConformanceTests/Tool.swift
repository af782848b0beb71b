import Glibc

/// The `runloop` executable, or another, that was built beside the tests.
struct Tool {
  struct Outcome {
    var output = ""
    var complaint = ""
    /// The exit status; 128 + the signal's number.
    var status: Int32 = 0
  }

  let path: String

  init(path: String) { self.path = path }

  init(_ name: String = "runloop") {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let length = readlink("/proc/self/exe", &buffer, buffer.count)
    let test = String(decoding: buffer[..<max(0, length)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    path = test.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/\(name)"
  }

  /// Where its standard output goes.
  enum Output {
    case collected, full, closed
  }

  /// Runs it to its end, which a deadline enforces. Blocks the calling thread.
  func run(_ arguments: [String], environment: [String: String] = [:], to target: Output = .collected) -> Outcome {
    let output = makePipe(), complaint = makePipe()
    let pid = start(
      arguments, environment: environment, output: target == .collected ? output.writing : target == .full ? -1 : -2,
      complaint: complaint.writing)
    close(output.writing)
    close(complaint.writing)
    defer {
      close(output.reading)
      close(complaint.reading)
    }
    guard pid > 0 else { return Outcome(complaint: "cannot start \(path)", status: -1) }
    var outcome = collect(output.reading, complaint.reading, from: pid)
    var ended: Int32 = 0
    while waitpid(pid, &ended, 0) < 0 && errno == EINTR {}
    outcome.status = ended & 0x7f == 0 ? ended >> 8 & 0xff : 128 + ended & 0x7f
    return outcome
  }

  /// Starts it and returns its number, -1 if it cannot be started. The descriptors stay the caller's. An output of -1 is
  /// /dev/full, one of -2 none.
  func start(_ arguments: [String], environment: [String: String], output: Int32, complaint: Int32) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    switch output {
    case -1: posix_spawn_file_actions_addopen(&actions, 1, "/dev/full", O_WRONLY, 0)
    case -2: posix_spawn_file_actions_addclose(&actions, 1)
    default: posix_spawn_file_actions_adddup2(&actions, output, 1)
    }
    posix_spawn_file_actions_adddup2(&actions, complaint, 2)
    var pid = pid_t()
    let status = withCStrings([path] + arguments) { argv in
      withCStrings(childEnvironment(environment)) { posix_spawn(&pid, path, &actions, nil, argv, $0) }
    }
    return status == 0 ? pid : -1
  }

  /// Reads both until their ends; kills the process when it takes a minute.
  private func collect(_ output: Int32, _ complaint: Int32, from pid: pid_t) -> Outcome {
    var texts: [[UInt8]] = [[], []]
    var entries = [output, complaint].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    var chunk = [UInt8](repeating: 0, count: 65536)
    while entries.contains(where: { $0.fd >= 0 }) {
      if poll(&entries, 2, 60_000) == 0 {
        kill(pid, SIGKILL)
        break  // a child of its own may hold the pipes for ever
      }
      for index in entries.indices where entries[index].fd >= 0 && entries[index].revents != 0 {
        let count = read(entries[index].fd, &chunk, chunk.count)
        if count > 0 {
          texts[index] += chunk[..<count]
        } else if count == 0 || errno != EINTR {
          entries[index].fd = -1
        }
      }
    }
    return Outcome(
      output: String(decoding: texts[0], as: UTF8.self), complaint: String(decoding: texts[1], as: UTF8.self))
  }

  private func makePipe() -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0, "pipe: error \(errno)")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private func childEnvironment(_ additions: [String: String]) -> [String] {
    // Without hints: scenarios make mistakes.
    var environment = ["SWIFT_BACKTRACE": "enable=no", "RUNLOOPKIT_DIAGNOSTICS": "0"]
    for name in ["PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS"] {
      if let value = getenv(name) { environment[name] = String(cString: value) }
    }
    return environment.merging(additions) { $1 }.map { "\($0)=\($1)" }
  }

  private func withCStrings<R>(
    _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R
  ) -> R {
    var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) }
    defer { pointers.forEach { free($0) } }
    pointers.append(nil)
    return body(&pointers)
  }
}
