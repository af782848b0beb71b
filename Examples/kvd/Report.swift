import Glibc

/// What failed, in words.
struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  /// A system call that has just failed.
  static func system(_ what: String, _ code: Int32 = errno) -> Failure {
    Failure("\(what): \(String(cString: strerror(code)))")
  }
}

/// What the operator reads, on standard error; a line a note.
enum Report {
  static func note(_ text: String) { _ = write("kvd: \(text)\n", to: STDERR_FILENO) }

  /// A line on standard output, for a program. Unbuffered: whoever waits for it gets it now.
  static func say(_ text: String) throws {
    let error = write(text + "\n", to: STDOUT_FILENO)
    if error != 0 { throw Failure.system("standard output", error) }
  }

  /// Before anything is opened: a descriptor that was closed by whoever started the daemon would be given to the log, and notes
  /// would be written into it. In its place comes one that refuses to be written.
  static func claimStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDONLY)  // the lowest number that is free
    }
  }

  /// All of it: 0, or the error's number.
  private static func write(_ text: String, to descriptor: Int32) -> Int32 {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        bytes = bytes.dropFirst(count)
      } else if errno == EAGAIN {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&entry, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return 0
  }
}
