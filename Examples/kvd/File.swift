import Glibc

/// An open file. Everything is done or an error.
final class File {
  let descriptor: Int32
  let path: String

  /// Takes the descriptor over.
  init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  convenience init(_ path: String, _ flags: Int32) throws {
    let descriptor = open(path, flags | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure.system(path) }
    self.init(descriptor: descriptor, path: path)
  }

  deinit { close(descriptor) }

  func size() throws -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Failure.system("\(path): fstat") }
    return Int(status.st_size)
  }

  /// Less than asked for only at the end of the file.
  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    var done = 0
    while done < buffer.count {
      let count = pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset + done))
      if count == 0 { break }
      if count > 0 {
        done += count
      } else if errno != EINTR {
        throw Failure.system("\(path): pread")
      }
    }
    return done
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    var done = 0
    while done < bytes.count {
      let count = pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset + done))
      if count > 0 {
        done += count
      } else if errno != EINTR {
        throw Failure.system("\(path): pwrite")
      }
    }
  }

  func write(_ bytes: [UInt8], at offset: Int) throws {
    try bytes.withUnsafeBytes { try write($0, at: offset) }
  }

  /// A part of another file, which must have it all.
  func append(from other: File, _ part: Range<Int>, at offset: Int) throws {
    var chunk = [UInt8](repeating: 0, count: min(1 << 20, max(1, part.count)))
    var from = part.lowerBound
    while from < part.upperBound {
      let count = min(chunk.count, part.upperBound - from)
      try chunk.withUnsafeMutableBytes { chunk in
        let piece = UnsafeMutableRawBufferPointer(rebasing: chunk[..<count])
        guard try other.read(at: from, into: piece) == count else { throw Failure("\(other.path): too short") }
        try write(UnsafeRawBufferPointer(piece), at: offset + from - part.lowerBound)
      }
      from += count
    }
  }

  func truncate(to size: Int) throws {
    guard ftruncate(descriptor, off_t(size)) == 0 else { throw Failure.system("\(path): ftruncate") }
  }

  /// The bytes, and the size that is needed to find them, are on the disk after it.
  func synchronise() throws {
    guard fdatasync(descriptor) == 0 else { throw Failure.system("\(path): fdatasync") }
  }

  /// A name that was made or changed in a directory is on the disk after it.
  static func synchroniseDirectory(_ path: String) throws {
    let directory = try File(path, O_RDONLY | O_DIRECTORY)
    guard fsync(directory.descriptor) == 0 else { throw Failure.system("\(path): fsync") }
  }

  static func rename(_ old: String, to new: String) throws {
    guard Glibc.rename(old, new) == 0 else { throw Failure.system("rename \(old) to \(new)") }
  }
}
