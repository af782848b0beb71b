/// A key or a value: bytes, whatever they mean.
struct Bytes: Hashable {
  var array: [UInt8]

  init<S: Sequence<UInt8>>(_ bytes: S) { array = Array(bytes) }

  var count: Int { array.count }

  func hash(into hasher: inout Hasher) { array.withUnsafeBytes { hasher.combine(bytes: $0) } }
}

/// One SET in the log: length, checksum, then as many bytes as the length says: the key's length, the key, the value.
/// Numbers are 32 bits, little-endian. The checksum is over all but itself, so that a record is whole or none.
enum Record {
  static let headerSize = 8
  /// The key's length and a key of one byte. Zeros, which a crash can leave behind, are no record.
  static let smallestBody = 5
  static let largestBody = 64 << 20

  static func size(_ key: Bytes, _ value: Bytes) -> Int { headerSize + 4 + key.count + value.count }

  static func append(_ key: Bytes, _ value: Bytes, to buffer: inout [UInt8]) {
    let start = buffer.count
    put(UInt32(4 + key.count + value.count), in: &buffer)
    put(0, in: &buffer)
    put(UInt32(key.count), in: &buffer)
    buffer += key.array
    buffer += value.array
    let checksum = buffer.withUnsafeBytes { Self.checksum(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    for index in 0..<4 { buffer[start + 4 + index] = UInt8(truncatingIfNeeded: checksum >> (8 * UInt32(index))) }
  }

  private static func put(_ number: UInt32, in buffer: inout [UInt8]) {
    for shift in stride(from: UInt32(0), to: 32, by: 8) { buffer.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }

  static func number(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
    UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  /// Of a whole record; the four bytes of the checksum are left out.
  static func checksum(_ record: UnsafeRawBufferPointer) -> UInt32 {
    var sum: UInt32 = 0xFFFF_FFFF
    table.withUnsafeBufferPointer { table in
      for index in record.indices where index < 4 || index >= headerSize {
        sum = table[Int((sum ^ UInt32(record[index])) & 0xFF)] ^ (sum >> 8)
      }
    }
    return ~sum
  }

  /// CRC-32 (IEEE 802.3).
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
  }
}
