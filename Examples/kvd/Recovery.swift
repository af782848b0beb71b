import Glibc

/// What a new daemon does with the end of the log that it finds.
///
/// What was being written when the machine stopped was never answered: one batch, of which any sectors may be missing, with no whole
/// batch behind it, or zeros to the end. That is cut off, and kept in a file of its own. Anything else was on the disk once and has been
/// answered: it is not for the daemon to throw away.
enum Recovery {
  static func readHeader(of file: File) throws -> LogHeader {
    do {
      return try LogHeader(try beginning(of: file))
    } catch let defect as LogHeader.Defect {
      throw Failure("\(file.path) \(words(defect))")
    }
  }

  static func beginning(of file: File) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: LogHeader.size)
    let count = try bytes.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
    return Array(bytes[..<count])
  }

  private static func words(_ defect: LogHeader.Defect) -> String {
    let remedy = "nothing is changed; `kvd repair --dir DIR` makes a new log of its whole records, and keeps it"
    return switch defect {
    case .foreign: "is no log of kvd"
    case .newer(let version): "is of format \(version), which this kvd does not know (it knows \(LogHeader.version))"
    case .firstFormat: "is of format 1, this kvd's is \(LogHeader.version): \(remedy)"
    case .secondFormat: "is of format 2, this kvd's is \(LogHeader.version): \(remedy)"
    case .unfinished, .damaged: "has a damaged header: \(remedy)"
    }
  }

  /// The reader has come to what is no whole batch. Returns if that is a torn tail.
  static func checkTail(_ reader: RecordReader, of file: File, size: Int) throws {
    var search = reader
    let isFollowed = try search.skip()
    var reader = reader
    if !isFollowed, try reader.canBeTorn() { return }
    let what = isFollowed ? "whole batches follow from offset \(search.offset) on" : "it is no unfinished batch"
    throw Failure(
      "\(file.path): damaged at offset \(reader.offset), \(size - reader.offset) bytes before its end: \(what); "
        + "nothing is changed; `kvd repair --dir DIR` makes a new log of all whole records, and keeps this one")
  }

  /// Cuts off what the reader has not read. It is in another file, on the disk, before it goes.
  static func cut(_ reader: RecordReader, of file: File, size: Int, in directory: String) throws {
    var reader = reader
    let (end, count) = (reader.offset, size - reader.offset)
    if try reader.hasOnlyZeros(from: end) {
      Report.note("\(file.path): \(count) zeros after the last whole batch are cut off")
    } else {
      let name = "kvd.log.tail-\(end)-\(wallClock())"
      let copy = try File(directory + "/" + name, O_RDWR | O_CREAT | O_EXCL)
      try copy.append(from: file, end..<size, at: 0)
      try copy.synchronise()
      try File.synchroniseDirectory(directory)
      Report.note("\(file.path): \(count) bytes after the last whole batch are cut off, and kept in \(name)")
    }
    try file.truncate(to: end)
    try file.synchronise()
  }

  /// For names: nanoseconds since 1970.
  static func wallClock() -> Int {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return now.tv_sec * 1_000_000_000 + now.tv_nsec
  }
}
