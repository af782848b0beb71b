internal import RunLoopLibc
import Synchronization

/// Standard output and standard error, unbuffered: the process may end by `_exit`.
enum Output {
  /// The error of the first write to standard output that failed.
  private static let failure = Mutex<Int32>(0)

  /// Whether some output was lost.
  static var hasFailed: Bool { failure.withLock { $0 } != 0 }

  /// Call it before the program opens anything. If the process was started with a standard descriptor closed, the first
  /// file that the program opens would get that number, and the output would go into this file. The call fills such a
  /// number with a descriptor that refuses writes.
  static func claimStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDONLY)  // gets the lowest free number, which is this one
    }
  }

  /// Writes to standard output. `status` reports lost output.
  static func write(_ text: String) {
    let error = put(text, to: STDOUT_FILENO)
    if error != 0 { failure.withLock { if $0 == 0 { $0 = error } } }
  }

  /// Writes a message to standard error. Control bytes, which a file or an argument may contain, do not reach the
  /// terminal.
  static func complain(_ text: String) {
    _ = put(ControlBytes.shown(text) + "\n", to: STDERR_FILENO)
  }

  /// Returns the exit status: `status`, or 1, with a message, if output was lost.
  static func status(_ status: Int32) -> Int32 {
    let error = failure.withLock { $0 }
    guard error != 0 else { return status }
    complain("runloop: standard output: \(String(cString: strerror(error)))")
    return status == 0 ? 1 : status
  }

  /// Writes the whole text; returns 0 or the error's number.
  private static func put(_ text: String, to descriptor: Int32) -> Int32 {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { RunLoopLibc.write(descriptor, $0.baseAddress, $0.count) }
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

/// Characters that drive a terminal instead of being shown: C0, DEL and C1.
enum ControlBytes {
  static func isControl(_ scalar: UnicodeScalar) -> Bool { scalar.properties.generalCategory == .control }

  /// Returns the text with each control character, except newlines and tabs, replaced by its number.
  static func shown(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { isControl($0) }) else { return text }
    var shown = ""
    for scalar in text.unicodeScalars {
      if isControl(scalar), scalar != "\n", scalar != "\t" {
        shown += name(of: scalar)
      } else {
        shown.unicodeScalars.append(scalar)
      }
    }
    return shown
  }

  static func name(of scalar: UnicodeScalar) -> String {
    "\\x" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
  }
}
