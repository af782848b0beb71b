/// Cuts what arrives into lines. A line that is too long is reported once, at once, and skipped up to its newline: it
/// needs no memory, and the lines after it keep their answers.
struct LineReader {
  enum Line {
    case text(ArraySlice<UInt8>)
    case tooLong
  }

  private var buffer: [UInt8] = []
  /// Where the next line begins.
  private var start = 0
  /// There is no newline from `start` up to here.
  private var searched = 0
  private var isSkipping = false

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    // What was handed out is gone; moved at most once for each read.
    if start > 0 {
      buffer.removeFirst(start)
      searched -= start
      start = 0
    }
    buffer += bytes
  }

  /// The next whole line without its newline; nil if there is none. Use the slice before the next call.
  mutating func next(limit: Int) -> Line? {
    let newline = buffer.withUnsafeBufferPointer { $0[searched...].firstIndex(of: UInt8(ascii: "\n")) }
    guard let newline else {
      searched = buffer.count
      if isSkipping || buffer.count - start > limit { return skip() }
      return nil
    }
    let line = buffer[start..<newline]
    start = newline + 1
    searched = start
    if isSkipping {
      isSkipping = false
      return next(limit: limit)
    }
    return line.count > limit ? .tooLong : .text(line)
  }

  private mutating func skip() -> Line? {
    buffer.removeAll(keepingCapacity: false)
    (start, searched) = (0, 0)
    defer { isSkipping = true }
    return isSkipping ? nil : .tooLong
  }
}
