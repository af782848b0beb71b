/// Reads a log's records one after the other, up to its end or to what is no record.
struct RecordReader {
  private let file: File
  /// Nil: the records of format 1 have none.
  private let salt: UInt64?
  private let limit: Int
  /// Where the next record begins: all before it is whole.
  private(set) var offset: Int

  private var window = [UInt8](repeating: 0, count: 256 << 10)
  private var windowStart = 0
  private var windowCount = 0

  init(_ file: File, salt: UInt64?, from offset: Int, to limit: Int) {
    self.file = file
    self.salt = salt
    self.offset = offset
    self.limit = limit
  }

  /// Nil at the end, and at a record that is torn or damaged.
  mutating func next() throws -> (key: Bytes, value: Bytes)? {
    guard let size = try size(at: offset) else { return nil }
    let start = offset - windowStart
    defer { offset += size }
    return window.withUnsafeBytes { window in
      let body = window[(start + Record.headerSize)..<(start + size)]
      let key = body.dropFirst(4).prefix(Int(Record.number(window, at: start + Record.headerSize)))
      return (Bytes(key), Bytes(body[key.endIndex...]))
    }
  }

  /// Goes on at the next byte where a whole record begins; false if there is none.
  mutating func skipToRecord() throws -> Bool {
    var candidate = offset + 1
    while candidate < limit {
      if try size(at: candidate) != nil {
        offset = candidate
        return true
      }
      candidate += 1
    }
    return false
  }

  /// True if what is left can be what a crash leaves of one record: a beginning of it, all of it with wrong bytes in it, or
  /// zeros; and nothing but zeros behind it.
  mutating func canBeTorn() throws -> Bool {
    guard try load(4, at: offset) else { return true }
    let body = window.withUnsafeBytes { Int(Record.number($0, at: offset - windowStart)) }
    if body >= Record.smallestBody, body <= Record.largestBody {
      return try hasOnlyZeros(from: offset + Record.headerSize + body)
    }
    return try hasOnlyZeros(from: offset)
  }

  /// Up to the end.
  mutating func hasOnlyZeros(from start: Int) throws -> Bool {
    var position = start
    while position < limit {
      guard try load(1, at: position) else { return false }
      let end = min(windowStart + windowCount, limit)
      guard window[(position - windowStart)..<(end - windowStart)].allSatisfy({ $0 == 0 }) else { return false }
      position = end
    }
    return true
  }

  /// Of the record that begins there, if one does; it is in the window then.
  private mutating func size(at offset: Int) throws -> Int? {
    // The key's length is looked at first: a plausible pair of lengths is rare, a checksum of much costs time.
    guard try load(Record.headerSize + Record.smallestBody, at: offset) else { return nil }
    let lengths = window.withUnsafeBytes { window in
      (
        Int(Record.number(window, at: offset - windowStart)),
        Int(Record.number(window, at: offset - windowStart + Record.headerSize))
      )
    }
    guard lengths.0 >= Record.smallestBody, lengths.0 <= Record.largestBody, lengths.1 >= 1, lengths.1 <= lengths.0 - 4
    else { return nil }
    let size = Record.headerSize + lengths.0
    guard try load(size, at: offset) else { return nil }
    let start = offset - windowStart
    let isWhole = window.withUnsafeBytes { window in
      let record = UnsafeRawBufferPointer(rebasing: window[start..<start + size])
      return Record.number(record, at: 4) == Record.checksum(ofRecord: record, salt: salt)
    }
    return isWhole ? size : nil
  }

  /// Brings `count` bytes from `offset` on into the window; false if there are not so many.
  private mutating func load(_ count: Int, at offset: Int) throws -> Bool {
    guard offset + count <= limit else { return false }
    if offset >= windowStart, offset + count <= windowStart + windowCount { return true }
    if window.count < count { window = [UInt8](repeating: 0, count: count) }
    windowStart = offset
    let wanted = min(window.count, limit - offset)
    let file = file
    windowCount = try window.withUnsafeMutableBytes {
      try file.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<wanted]))
    }
    return windowCount >= count
  }
}
