import Glibc

/// Standard output and standard error, unbuffered: the process may end by `_exit`.
enum Output {
  static func write(_ text: String) {
    put(text, to: STDOUT_FILENO)
  }

  static func complain(_ text: String) {
    put(text + "\n", to: STDERR_FILENO)
  }

  /// All of it, unless the reader has gone.
  private static func put(_ text: String, to descriptor: Int32) {
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
