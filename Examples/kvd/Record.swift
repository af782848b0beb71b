import Glibc

/// A key or a value: bytes, whatever they mean.
struct Bytes: Hashable {
  var array: [UInt8]

  init<S: Sequence<UInt8>>(_ bytes: S) { array = Array(bytes) }

  var count: Int { array.count }

  func hash(into hasher: inout Hasher) { array.withUnsafeBytes { hasher.combine(bytes: $0) } }

  static func == (a: Bytes, b: Bytes) -> Bool {
    guard a.count == b.count, a.count > 0 else { return a.count == b.count }
    return a.array.withUnsafeBytes { a in
      b.array.withUnsafeBytes { memcmp(a.baseAddress!, $0.baseAddress!, a.count) == 0 }
    }
  }
}

/// One SET in a batch of the log: length, checksum, then as many bytes as the length says: the key's length, the key, the value.
/// Numbers are 32 bits, little-endian. The checksum is over the log's random number and all but itself, so that a record is whole
/// or none.
enum Record {
  static let headerSize = 8
  /// The key's length and a key of one byte. Zeros, which a crash can leave behind, are no record.
  static let smallestBody = 5
  static let largestBody = 64 << 20

  static func size(_ key: Bytes, _ value: Bytes) -> Int { headerSize + 4 + key.count + value.count }

  static func append(_ key: Bytes, _ value: Bytes, salt: UInt64, to buffer: inout [UInt8]) {
    let start = buffer.count
    put(UInt32(4 + key.count + value.count), in: &buffer)
    put(0, in: &buffer)
    put(UInt32(key.count), in: &buffer)
    buffer += key.array
    buffer += value.array
    buffer.withUnsafeMutableBytes { buffer in
      let record = UnsafeRawBufferPointer(rebasing: buffer[start...])
      let checksum = Self.checksum(ofRecord: record, salt: salt)
      buffer.storeBytes(of: checksum.littleEndian, toByteOffset: start + 4, as: UInt32.self)
    }
  }

  static func put(_ number: UInt32, in buffer: inout [UInt8]) {
    withUnsafeBytes(of: number.littleEndian) { buffer += $0 }
  }

  static func number(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
    UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  /// Of a whole record; the four bytes of the checksum are left out.
  static func checksum(ofRecord record: UnsafeRawBufferPointer, salt: UInt64?) -> UInt32 {
    ~CRC32.update(
      CRC32.update(CRC32.begin(salt), UnsafeRawBufferPointer(rebasing: record[..<4])),
      UnsafeRawBufferPointer(rebasing: record[headerSize...]))
  }

  static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 { ~CRC32.update(CRC32.begin(nil), bytes) }
}

/// CRC-32 (IEEE 802.3), eight bytes at a time.
enum CRC32 {
  static func begin(_ salt: UInt64?) -> UInt32 {
    guard let salt else { return 0xFFFF_FFFF }
    return withUnsafeBytes(of: salt.littleEndian) { update(0xFFFF_FFFF, $0) }
  }

  static func update(_ start: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
    tables.withUnsafeBufferPointer { tables in
      var sum = start
      var index = 0
      while index + 8 <= bytes.count {
        let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) ^ UInt64(sum)
        sum = 0
        for byte in 0..<8 { sum ^= tables[(7 - byte) << 8 | Int(word >> (8 * UInt64(byte)) & 0xFF)] }
        index += 8
      }
      while index < bytes.count {
        sum = tables[Int((sum ^ UInt32(bytes[index])) & 0xFF)] ^ (sum >> 8)
        index += 1
      }
      return sum
    }
  }

  /// Table k, entry n: the sum of byte n with k zeros behind it.
  private static let tables: [UInt32] = {
    var tables: [UInt32] = (0..<256).map { byte in
      (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
    }
    for index in 256..<2048 {
      let shorter = tables[index - 256]
      tables.append(tables[Int(shorter & 0xFF)] ^ (shorter >> 8))
    }
    return tables
  }()
}
