internal import CRunLoopCore
internal import RunLoopLibc

package enum StandardError {
  /// Writes to standard error. A failure is ignored: it cannot be reported anywhere. The write sends no SIGPIPE, which
  /// could end the process [RLK-DIAG-6].
  package static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = rlc_descriptor_write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
  }

  /// Writes a line with two numbers. Signal handlers may call it: it allocates nothing, and leaves errno as it is.
  package static func write(
    _ first: StaticString, _ number: Int32, _ second: StaticString, _ another: Int32, _ last: StaticString
  ) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { room in
      var line = Line(room: room)
      line.append(first)
      line.append(number)
      line.append(second)
      line.append(another)
      line.append(last)
      _ = rlc_descriptor_write(STDERR_FILENO, room.baseAddress, line.count)
    }
  }
}

/// Text in borrowed memory. What does not fit is left out.
private struct Line {
  let room: UnsafeMutableBufferPointer<UInt8>
  private(set) var count = 0

  init(room: UnsafeMutableBufferPointer<UInt8>) { self.room = room }

  mutating func append(_ text: StaticString) {
    for index in 0..<text.utf8CodeUnitCount { append(text.utf8Start[index]) }
  }

  mutating func append(_ number: Int32) {
    if number < 0 { append(UInt8(ascii: "-")) }
    var unit: UInt32 = 1
    while number.magnitude / unit >= 10 { unit *= 10 }
    while unit > 0 {
      append(UInt8(ascii: "0") + UInt8(number.magnitude / unit % 10))
      unit /= 10
    }
  }

  private mutating func append(_ byte: UInt8) {
    guard count < room.count else { return }
    room[count] = byte
    count += 1
  }
}
