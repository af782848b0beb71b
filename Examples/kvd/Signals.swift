import Glibc
import RunLoopKit

/// Signals as events of the loop: a handler writes the number into a pipe, which the loop reads.
final class Signals {
  private let source: RunLoop.FileDescriptorSource

  init(_ numbers: [Int32], on loop: RunLoop, _ body: @escaping (Int32) -> Void) throws {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw Failure.system("pipe") }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    let reading = ends[0]
    source = try loop.assumeOnLoop { local throws(RunLoopError) in
      try local.descriptor(reading, interest: .readable) { _, _ in
        var number: UInt8 = 0
        while read(reading, &number, 1) == 1 { body(Int32(number)) }
      }
    }
    writingEnd = ends[1]
    for number in numbers { signal(number, tell) }
  }
}

/// Set before the first handler.
nonisolated(unsafe) private var writingEnd: Int32 = -1

private func tell(_ number: Int32) {
  let code = errno
  var byte = UInt8(number)
  _ = write(writingEnd, &byte, 1)
  errno = code
}
