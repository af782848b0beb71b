import CTestSupport
import Glibc

/// What the kit says on standard error, which is how it tells of what nobody else could be told.
struct Said {
  private let reading: Int32
  private let standardError: Int32

  init() {
    var ends: [Int32] = [-1, -1]
    precondition(test_pipe(&ends) == 0)
    reading = ends[0]
    standardError = dup(STDERR_FILENO)
    dup2(ends[1], STDERR_FILENO)
    close(ends[1])
  }

  /// The kit's lines; all that was said goes on to standard error. Once.
  func lines() -> [Substring] {
    dup2(standardError, STDERR_FILENO)
    _ = fcntl(reading, F_SETFL, O_NONBLOCK)
    var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
    while case let count = read(reading, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
    _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("RunLoopKit: ") }
  }
}
