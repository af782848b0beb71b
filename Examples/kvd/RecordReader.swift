/// Reads a log's records one after the other, up to its end or to what is no record.
struct RecordReader {
  private let file: File
  private let limit: Int
  /// Where the next record begins: all before it is whole.
  private(set) var offset: Int

  private var window = [UInt8](repeating: 0, count: 256 << 10)
  private var windowStart = 0
  private var windowCount = 0

  init(_ file: File, from offset: Int, to limit: Int) {
    self.file = file
    self.offset = offset
    self.limit = limit
  }

  /// Nil at the end, and at a record that is torn or damaged.
  mutating func next() throws -> (key: Bytes, value: Bytes)? {
    guard try load(Record.headerSize) else { return nil }
    let length = window.withUnsafeBytes { Int(Record.number($0, at: offset - windowStart)) }
    guard length >= Record.smallestBody, length <= Record.largestBody else { return nil }
    guard try load(Record.headerSize + length) else { return nil }
    let start = offset - windowStart
    let found = window.withUnsafeBytes { window -> (Bytes, Bytes)? in
      let record = UnsafeRawBufferPointer(rebasing: window[start..<start + Record.headerSize + length])
      guard Record.number(record, at: 4) == Record.checksum(record) else { return nil }
      let body = record[Record.headerSize...]
      let keyLength = Int(Record.number(record, at: Record.headerSize))
      guard keyLength >= 1, keyLength <= length - 4 else { return nil }
      let key = body.dropFirst(4).prefix(keyLength)
      return (Bytes(key), Bytes(body[key.endIndex...]))
    }
    guard let found else { return nil }
    offset += Record.headerSize + length
    return found
  }

  /// Brings `count` bytes from `offset` on into the window; false if there are not so many.
  private mutating func load(_ count: Int) throws -> Bool {
    guard offset + count <= limit else { return false }
    if offset >= windowStart, offset + count <= windowStart + windowCount { return true }
    if window.count < count { window = [UInt8](repeating: 0, count: count) }
    windowStart = offset
    let wanted = min(window.count, limit - offset)
    let (file, offset) = (file, offset)
    windowCount = try window.withUnsafeMutableBytes {
      try file.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<wanted]))
    }
    return windowCount >= count
  }
}
