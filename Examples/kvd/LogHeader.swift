/// What a log begins with, twice: the name of the format, its version, a random number, and a checksum of these.
///
/// The random number is part of each record's checksum: bytes that a client has sent as a value are never taken for a record.
struct LogHeader: Equatable {
  static let version: UInt32 = 3
  /// Both copies.
  static let size = 2 * copySize
  private static let copySize = 24
  private static let magic = Array("KVDLOG\r\n".utf8)
  private static let firstFormat = Array("KVDLOG1\n".utf8)

  let salt: UInt64

  init() { salt = .random(in: .min ... .max) }

  var bytes: [UInt8] {
    var copy = Self.magic
    for number in [Self.version, UInt32(truncatingIfNeeded: salt), UInt32(truncatingIfNeeded: salt >> 32)] {
      Record.put(number, in: &copy)
    }
    Record.put(copy.withUnsafeBytes { Record.checksum($0) }, in: &copy)
    return copy + copy
  }

  /// What is wrong with a file that is no whole log.
  enum Defect: Error {
    /// Nothing, or what a crash leaves of a log that is being made.
    case unfinished
    case foreign
    case firstFormat
    /// Its records are in no batches.
    case secondFormat(salt: UInt64)
    case newer(UInt32)
    case damaged
  }

  /// From the beginning of a file. A copy that is good is enough for `isRepair`; else both must be.
  init(_ bytes: [UInt8], isRepair: Bool = false) throws(Defect) {
    guard bytes.count >= Self.size else {
      let isPrefix = bytes.elementsEqual(Self.magic.prefix(bytes.count)) || bytes.starts(with: Self.magic)
      if bytes.starts(with: Self.firstFormat) { throw .firstFormat }
      throw isPrefix || bytes.allSatisfy { $0 == 0 } ? .unfinished : .foreign
    }
    let first = Self.salt(of: bytes[..<Self.copySize]), second = Self.salt(of: bytes[Self.copySize..<Self.size])
    if let salt = first ?? (isRepair ? second : nil), isRepair || first == second {
      self.salt = salt
      return
    }
    if bytes.starts(with: Self.firstFormat) { throw .firstFormat }
    if let salt = Self.salt(of: bytes[..<Self.copySize], 2) ?? Self.salt(of: bytes[Self.copySize..<Self.size], 2) {
      throw .secondFormat(salt: salt)
    }
    if let newer = Self.version(of: bytes[..<Self.copySize]) ?? Self.version(of: bytes[Self.copySize..<Self.size]),
      newer != Self.version
    {
      throw .newer(newer)
    }
    throw first != nil || second != nil || bytes.starts(with: Self.magic) ? .damaged : .foreign
  }

  private static func salt(of copy: ArraySlice<UInt8>, _ version: UInt32 = Self.version) -> UInt64? {
    guard self.version(of: copy) == version else { return nil }
    return copy.withUnsafeBytes { UInt64(Record.number($0, at: 12)) | UInt64(Record.number($0, at: 16)) << 32 }
  }

  /// Nil if the copy is damaged, or none.
  private static func version(of copy: ArraySlice<UInt8>) -> UInt32? {
    guard copy.starts(with: magic) else { return nil }
    return copy.withUnsafeBytes { copy in
      let checked = UnsafeRawBufferPointer(rebasing: copy[..<(copySize - 4)])
      return Record.checksum(checked) == Record.number(copy, at: copySize - 4) ? Record.number(copy, at: 8) : nil
    }
  }
}
