/// Reads a log's batches one after the other, up to its end or to what is no whole batch.
struct RecordReader {
  enum Layout {
    /// Of the formats 1, whose records have no random number, and 2.
    case records(salt: UInt64?)
    case batches(salt: UInt64)
  }

  private let file: File
  private let layout: Layout
  private let limit: Int
  /// Also reads the whole records of a damaged batch.
  private let isRepair: Bool
  /// Where the next batch begins: all before it is whole.
  private(set) var offset: Int

  private var window = [UInt8](repeating: 0, count: 256 << 10)
  private var windowStart = 0
  private var windowCount = 0

  init(_ file: File, _ layout: Layout, from offset: Int, to limit: Int, isRepair: Bool = false) {
    self.file = file
    self.layout = layout
    self.offset = offset
    self.limit = limit
    self.isRepair = isRepair
  }

  /// The records of the next batch. Nil at the end, and at a batch that is torn or damaged.
  mutating func next() throws -> [(key: Bytes, value: Bytes)]? {
    guard let found = try find(at: offset) else { return nil }
    defer { offset += found.size }
    let start = offset - windowStart
    return window.withUnsafeBytes { window in
      var records: [(Bytes, Bytes)] = []
      var place = start + (found.isBatch ? Batch.headerSize : 0)
      while place < start + found.size {
        let end = place + Record.headerSize + Int(Record.number(window, at: place))
        let body = window[(place + Record.headerSize)..<end]
        let key = body.dropFirst(4).prefix(Int(Record.number(window, at: place + Record.headerSize)))
        records.append((Bytes(key), Bytes(body[key.endIndex...])))
        place = end
      }
      return records
    }
  }

  /// Goes on at the next byte where something whole begins; false if there is none.
  mutating func skip() throws -> Bool {
    var candidate = offset + 1
    while candidate < limit {
      if try find(at: candidate) != nil {
        offset = candidate
        return true
      }
      candidate += 1
    }
    return false
  }

  /// True if what is left can be what a crash leaves of one batch: a beginning of it, all of it with wrong bytes in it, or
  /// zeros; and nothing but zeros behind it.
  mutating func canBeTorn() throws -> Bool {
    guard try load(4, at: offset) else { return true }
    if try hasLostLength() { return true }
    let body = window.withUnsafeBytes { Int(Record.number($0, at: offset - windowStart)) }
    if body >= Batch.smallestBody, body <= Batch.largestBody {
      return try hasOnlyZeros(from: offset + Batch.headerSize + body)
    }
    return try hasOnlyZeros(from: offset)
  }

  /// What a disk writes whole or not at all.
  private static let sector = 512

  /// A sector with bytes of the batch's length was not written: as far as it is the batch's, it is zeros. How far the batch goes is
  /// not known then.
  private mutating func hasLostLength() throws -> Bool {
    let second = (offset / Self.sector + 1) * Self.sector
    for start in [offset, second] where start < offset + 4 {
      let end = min((start / Self.sector + 1) * Self.sector, limit)
      guard try load(end - offset, at: offset) else { continue }
      if window[(start - windowStart)..<(end - windowStart)].allSatisfy({ $0 == 0 }) { return true }
    }
    _ = try load(4, at: offset)
    return false
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

  /// What begins there, if it is whole; it is in the window then.
  private mutating func find(at offset: Int) throws -> (size: Int, isBatch: Bool)? {
    switch layout {
    case .records(let salt): return try record(at: offset, salt).map { ($0, false) }
    case .batches(let salt):
      if let size = try batch(at: offset, salt) { return (size, true) }
      return isRepair ? try record(at: offset, salt).map { ($0, false) } : nil
    }
  }

  private mutating func batch(at offset: Int, _ salt: UInt64) throws -> Int? {
    // The first record's length is looked at first: a plausible pair of lengths is rare, a checksum of much costs time.
    guard let (body, first) = try lengths(at: offset, Batch.headerSize + Batch.smallestBody),
      body >= Batch.smallestBody, body <= Batch.largestBody, first >= Record.smallestBody, first <= body - 8
    else { return nil }
    return try whole(Batch.headerSize + body, at: offset) { Batch.checksum(ofBatch: $0, salt: salt) }
  }

  private mutating func record(at offset: Int, _ salt: UInt64?) throws -> Int? {
    guard let (body, key) = try lengths(at: offset, Record.headerSize + Record.smallestBody),
      body >= Record.smallestBody, body <= Record.largestBody, key >= 1, key <= body - 4
    else { return nil }
    return try whole(Record.headerSize + body, at: offset) { Record.checksum(ofRecord: $0, salt: salt) }
  }

  /// The one of a header, and the one that its body begins with; nil if there are fewer bytes.
  private mutating func lengths(at offset: Int, _ count: Int) throws -> (Int, Int)? {
    guard try load(count, at: offset) else { return nil }
    return window.withUnsafeBytes { window in
      let start = offset - windowStart
      return (Int(Record.number(window, at: start)), Int(Record.number(window, at: start + 8)))
    }
  }

  /// The size, if all is there and has its checksum.
  private mutating func whole(
    _ size: Int, at offset: Int, _ checksum: (UnsafeRawBufferPointer) -> UInt32
  ) throws -> Int? {
    guard try load(size, at: offset) else { return nil }
    let start = offset - windowStart
    return window.withUnsafeBytes { window in
      let frame = UnsafeRawBufferPointer(rebasing: window[start..<start + size])
      return Record.number(frame, at: 4) == checksum(frame) ? size : nil
    }
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
