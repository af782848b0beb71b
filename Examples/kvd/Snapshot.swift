import Glibc

/// What the child does: reads the log up to an offset and writes the last value of each key into a file beside it.
///
/// The file has its name only once it is whole and on the disk; the log itself is the parent's to replace.
enum Snapshot {
  static func write(_ order: Options.Compact) throws {
    var values: [Bytes: Bytes] = [:]
    let log = try File(order.directory + "/kvd.log", O_RDONLY)
    let header = try Recovery.readHeader(of: log)
    var reader = RecordReader(log, .batches(salt: header.salt), from: LogHeader.size, to: order.end)
    while let records = try reader.next() { for (key, value) in records { values[key] = value } }
    guard reader.offset == order.end else { throw Failure("\(log.path): no whole batch at \(reader.offset)") }

    let path = order.directory + "/" + order.name
    let file = try File(path + ".partial", O_RDWR | O_CREAT | O_EXCL)
    var writer = try LogWriter(file, header)
    for (key, value) in values {
      if try writer.append(key, value) { try checkParent(order) }
    }
    try writer.finish()
    try checkParent(order)
    try File.rename(path + ".partial", to: path)
  }

  /// What an orphan leaves behind the next daemon removes.
  private static func checkParent(_ order: Options.Compact) throws {
    guard getppid() == order.parent else { throw Failure("compaction: the daemon is gone") }
  }
}
