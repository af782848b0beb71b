import Glibc

/// What the child does: reads the log up to an offset and writes the last value of each key into a file beside it.
///
/// The file has its name only once it is whole and on the disk; the log itself is the parent's to replace.
enum Snapshot {
  static func write(_ order: Options.Compact) throws {
    var values: [Bytes: Bytes] = [:]
    let log = try File(order.directory + "/kvd.log", O_RDONLY)
    let header = try Recovery.readHeader(of: log)
    var reader = RecordReader(log, salt: header.salt, from: LogHeader.size, to: order.end)
    while let (key, value) = try reader.next() { values[key] = value }
    guard reader.offset == order.end else { throw Failure("\(log.path): no whole record at \(reader.offset)") }

    let path = order.directory + "/" + order.name
    let file = try File(path + ".partial", O_RDWR | O_CREAT | O_EXCL)
    var (end, chunk) = (0, header.bytes)
    for (key, value) in values {
      Record.append(key, value, salt: header.salt, to: &chunk)
      guard chunk.count >= 1 << 20 else { continue }
      try checkParent(order)
      try file.write(chunk, at: end)
      end += chunk.count
      chunk.removeAll(keepingCapacity: true)
    }
    try file.write(chunk, at: end)
    try file.synchronise()
    try checkParent(order)
    try File.rename(path + ".partial", to: path)
  }

  /// What an orphan leaves behind the next daemon removes.
  private static func checkParent(_ order: Options.Compact) throws {
    guard getppid() == order.parent else { throw Failure("compaction: the daemon is gone") }
  }
}
