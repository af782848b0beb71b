/// Writes a new log, in batches of about a megabyte.
struct LogWriter {
  private let file: File
  private let header: LogHeader
  private var end: Int
  private var batch: [UInt8] = []

  private static let batchSize = 1 << 20

  init(_ file: File, _ header: LogHeader) throws {
    (self.file, self.header) = (file, header)
    try file.write(header.bytes, at: 0)
    end = LogHeader.size
  }

  /// True if it has written a batch.
  mutating func append(_ key: Bytes, _ value: Bytes) throws -> Bool {
    if batch.isEmpty { Batch.begin(&batch) }
    Record.append(key, value, salt: header.salt, to: &batch)
    guard batch.count >= Self.batchSize else { return false }
    try write()
    return true
  }

  /// All is on the disk after it.
  mutating func finish() throws {
    if !batch.isEmpty { try write() }
    try file.synchronise()
  }

  private mutating func write() throws {
    Batch.seal(&batch, salt: header.salt)
    try file.write(batch, at: end)
    end += batch.count
    batch.removeAll(keepingCapacity: true)
  }
}
