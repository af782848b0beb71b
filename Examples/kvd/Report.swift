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
  static func note(_ text: String) { write("kvd: \(text)\n", to: STDERR_FILENO) }

  /// Unbuffered: whoever waits for the line gets it now.
  static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        bytes = bytes.dropFirst(count)
      } else if errno != EINTR {
        return
      }
    }
  }
}
