/// What one commit adds to the log: length, checksum, and so many bytes of whole records.
///
/// A batch is whole or none: a crash before its commit was answered may leave some of its sectors on the disk, in any order. The
/// checksum is over the inverse of the log's random number, so that no record is taken for a batch.
enum Batch {
  static let headerSize = 8
  static let smallestBody = Record.headerSize + Record.smallestBody
  /// Staged records do not wait for so many bytes: `GroupCommit.sizeLimit`, and one line of at most 16 MiB.
  static let largestBody = 64 << 20

  /// Room for the header, in front of the records.
  static func begin(_ buffer: inout [UInt8]) { buffer += [UInt8](repeating: 0, count: headerSize) }

  /// Fills the header in when all records are there.
  static func seal(_ buffer: inout [UInt8], salt: UInt64) {
    let length = UInt32(buffer.count - headerSize)
    buffer.withUnsafeMutableBytes { buffer in
      buffer.storeBytes(of: length.littleEndian, as: UInt32.self)
      let sum = checksum(ofBatch: UnsafeRawBufferPointer(buffer), salt: salt)
      buffer.storeBytes(of: sum.littleEndian, toByteOffset: 4, as: UInt32.self)
    }
  }

  static func checksum(ofBatch batch: UnsafeRawBufferPointer, salt: UInt64) -> UInt32 {
    Record.checksum(ofRecord: batch, salt: ~salt)
  }
}
