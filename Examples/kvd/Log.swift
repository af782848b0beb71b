import Glibc

/// The append-only file. What `append` has returned from is on the disk.
final class Log {
  private(set) var file: File
  let header: LogHeader
  /// Its size: everything before it is whole and on the disk.
  private(set) var end: Int
  let directory: String
  private var path: String { directory + "/kvd.log" }

  /// Opens or makes it and hands over what it holds, in order. What was being written and was never answered is cut off.
  ///
  /// - Throws: If it is damaged, or another program's: nothing is changed then.
  init(in directory: String, _ body: (Bytes, Bytes) -> Void) throws {
    self.directory = directory
    let path = directory + "/kvd.log"
    file = try File(path, O_RDWR | O_CREAT)
    let size = try file.size()
    if try Self.isUnfinished(file, size) {
      header = LogHeader()
      end = LogHeader.size
      try file.truncate(to: 0)
      try file.write(header.bytes, at: 0)
      try file.synchronise()
      try File.synchroniseDirectory(directory)
      return
    }
    header = try Recovery.readHeader(of: file)
    var reader = RecordReader(file, .batches(salt: header.salt), from: LogHeader.size, to: size)
    while let records = try reader.next() { for (key, value) in records { body(key, value) } }
    end = reader.offset
    if end < size {
      try Recovery.checkTail(reader, of: file, size: size)
      try Recovery.cut(reader, of: file, size: size, in: directory)
    }
  }

  /// New, or left by a crash while it was made.
  private static func isUnfinished(_ file: File, _ size: Int) throws -> Bool {
    guard size < LogHeader.size else { return false }
    do {
      _ = try LogHeader(try Recovery.beginning(of: file))
    } catch LogHeader.Defect.unfinished {
      return true
    } catch is LogHeader.Defect {}
    return false
  }

  /// What is on the disk is not known: only a new start can tell. After any other error the log is as it was.
  struct Lost: Error, CustomStringConvertible {
    let cause: any Error
    var description: String { "\(cause); giving up" }
  }

  /// A batch, whose size is checked before anything is written.
  func append(_ batch: [UInt8]) throws {
    guard batch.count - Batch.headerSize <= Batch.largestBody else { throw Failure("\(path): a commit is too large") }
    do {
      try file.write(batch, at: end)
    } catch {
      do { try file.truncate(to: end) } catch { throw Lost(cause: error) }
      throw error
    }
    // A failed fdatasync(2) may have dropped the dirty pages: a second one would succeed, and prove nothing.
    do { try file.synchronise() } catch { throw Lost(cause: error) }
    end += batch.count
  }

  /// Appends what was logged since `offset` to a snapshot of all before it, and goes on with that file.
  ///
  /// At every moment `kvd.log` names one whole log: the old one until rename(2), then the new one, which is on the disk.
  func replace(with snapshot: String, andWhatFollows offset: Int) throws {
    let replacement = try File(directory + "/" + snapshot, O_RDWR)
    var length = try replacement.size()
    guard try Recovery.readHeader(of: replacement) == header else {
      throw Failure("\(replacement.path) is another log's")
    }
    try replacement.append(from: file, offset..<end, at: length)
    length += end - offset
    try replacement.synchronise()
    try File.rename(replacement.path, to: path)
    file = replacement
    end = length
    // A crash could bring back the old log otherwise, without what is appended from here on.
    do { try File.synchroniseDirectory(directory) } catch { throw Lost(cause: error) }
  }
}
