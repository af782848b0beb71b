import Glibc

/// The append-only file. What `append` has returned from is on the disk.
final class Log {
  static let magic = Array("KVDLOG1\n".utf8)

  private(set) var file: File
  /// Its size: everything before it is whole and on the disk.
  private(set) var end: Int
  let directory: String
  private var path: String { directory + "/kvd.log" }

  /// Opens or makes it and hands over what it holds, in order. What follows the last whole record was never answered: it
  /// is cut off.
  init(in directory: String, _ body: (Bytes, Bytes) -> Void) throws {
    self.directory = directory
    let path = directory + "/kvd.log"
    file = try File(path, O_RDWR | O_CREAT)
    let size = try file.size()
    end = Self.magic.count
    if size < end {
      // Also after a crash while it was made.
      try file.truncate(to: 0)
      try file.write(Self.magic, at: 0)
      try file.synchronise()
      try File.synchroniseDirectory(directory)
      return
    }
    try Self.checkMagic(of: file)
    var reader = RecordReader(file, from: end, to: size)
    while let (key, value) = try reader.next() { body(key, value) }
    end = reader.offset
    if end < size {
      Report.note("\(path): \(size - end) bytes after the last whole record are cut off")
      try file.truncate(to: end)
      try file.synchronise()
    }
  }

  static func checkMagic(of file: File) throws {
    var bytes = [UInt8](repeating: 0, count: magic.count)
    let count = try bytes.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
    guard count == magic.count, bytes == magic else { throw Failure("\(file.path) is no log of kvd") }
  }

  /// What is on the disk is not known: only a new start can tell. After any other error the log is as it was.
  struct Lost: Error, CustomStringConvertible {
    let cause: any Error
    var description: String { "\(cause); giving up" }
  }

  func append(_ records: [UInt8]) throws {
    do {
      try file.write(records, at: end)
    } catch {
      do { try file.truncate(to: end) } catch { throw Lost(cause: error) }
      throw error
    }
    // A failed fdatasync(2) may have dropped the dirty pages: a second one would succeed, and prove nothing.
    do { try file.synchronise() } catch { throw Lost(cause: error) }
    end += records.count
  }

  /// Appends what was logged since `offset` to a snapshot of all before it, and goes on with that file.
  ///
  /// At every moment `kvd.log` names one whole log: the old one until rename(2), then the new one, which is on the disk.
  func replace(with snapshot: String, andWhatFollows offset: Int) throws {
    let replacement = try File(directory + "/" + snapshot, O_RDWR)
    var length = try replacement.size()
    try Self.checkMagic(of: replacement)
    var chunk = [UInt8](repeating: 0, count: 1 << 20)
    var from = offset
    while from < end {
      let count = min(chunk.count, end - from)
      try chunk.withUnsafeMutableBytes { chunk in
        let part = UnsafeMutableRawBufferPointer(rebasing: chunk[..<count])
        guard try file.read(at: from, into: part) == count else { throw Failure("\(file.path): too short") }
        try replacement.write(UnsafeRawBufferPointer(part), at: length)
      }
      from += count
      length += count
    }
    try replacement.synchronise()
    try File.rename(replacement.path, to: path)
    file = replacement
    end = length
    // A crash could bring back the old log otherwise, without what is appended from here on.
    do { try File.synchroniseDirectory(directory) } catch { throw Lost(cause: error) }
  }
}
