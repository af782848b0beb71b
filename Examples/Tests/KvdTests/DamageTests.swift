import Glibc
import TestSupport
import XCTest

/// A log that is damaged where it has been answered is not the daemon's to cut.
final class DamageTests: XCTestCase {
  private let directory = Directory()
  private static let headerSize = 48
  /// Of a batch: in front of its records.
  private static let batchHeader = 8

  /// A bit in every byte of the first two batches and of the header.
  func testAFlippedBitIsRefusedAndChangesNothing() throws {
    let whole = try written(["SET a one", "SET b two", "SET c three"])
    let record = Self.batchHeader + 8 + 4 + "aone".utf8.count
    for offset in 0..<(Self.headerSize + 2 * record) {
      var bytes = whole
      bytes[offset] ^= UInt8(1 << (offset % 8))
      directory.write(bytes, to: "kvd.log")
      let complaint = try refused()
      XCTAssertEqual(directory.read("kvd.log"), bytes, "\(offset)")
      XCTAssertEqual(directory.names.sorted(), ["kvd.lock", "kvd.log"], "\(offset)")
      if offset >= Self.headerSize {
        let start = Self.headerSize + (offset - Self.headerSize) / record * record
        XCTAssertTrue(complaint.contains("damaged at offset \(start), "), "\(offset): \(complaint)")
      } else {
        XCTAssertTrue(complaint.contains("kvd.log has a damaged header"), "\(offset): \(complaint)")
      }
      XCTAssertTrue(complaint.contains("`kvd repair --dir DIR`"), complaint)
    }
  }

  func testWhatIsNoUnfinishedRecordIsRefused() throws {
    let whole = try written(["SET a one"])
    for (name, tail) in [
      ("junk", Array("junk that is no record at all".utf8)), ("a length beyond all", [255, 255, 255, 255, 0, 0, 0, 0]),
      ("a batch and junk", [14, 0, 0, 0] + [UInt8](repeating: 1, count: 18) + [7]),
      ("zeros and junk", [UInt8](repeating: 0, count: 300) + [1]),
    ] {
      directory.write(whole + tail, to: "kvd.log")
      XCTAssertTrue(try refused().contains("it is no unfinished batch; nothing is changed"), name)
      XCTAssertEqual(directory.read("kvd.log"), whole + tail, name)
    }
  }

  func testRepairKeepsAllWholeRecordsAndTheDamagedLog() throws {
    var bytes = try written(["SET a one", "SET b two", "SET c three", "SET b four"])
    let record = Self.batchHeader + 8 + 4 + "aone".utf8.count
    bytes[Self.headerSize + record + Self.batchHeader + 13] ^= 1  // of b's first value
    bytes[5] ^= 1
    bytes += [UInt8](repeating: 7, count: 100)
    directory.write(bytes, to: "kvd.log")
    XCTAssertTrue(try refused().contains("damaged header"))
    let notes = try repair()
    XCTAssertTrue(notes.contains("kvd: left out: \(record) bytes at offset \(Self.headerSize + record)"), "\(notes)")
    XCTAssertTrue(notes.contains("kvd: left out: 100 bytes at offset \(bytes.count - 100)"), "\(notes)")
    XCTAssertTrue(notes.contains { $0.hasPrefix("kvd: 3 records kept") }, "\(notes)")
    let kept = directory.names.filter { $0.hasPrefix("kvd.log.damaged-") }
    XCTAssertEqual(kept.map { directory.read($0) }, [bytes])

    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    for (request, answer) in [("GET a", "VALUE one"), ("GET b", "VALUE four"), ("GET c", "VALUE three")] {
      XCTAssertEqual(try client.ask(request), answer)
    }
    XCTAssertEqual(try client.ask("SET d five"), "OK")
    kvd.kill()
    XCTAssertEqual(try repair().filter { $0.contains("is whole: 4 records, nothing to repair") }.count, 1)
  }

  func testALogOfTheFirstFormatIsRefusedAndRepairedIntoOneOfThisOne() throws {
    // SET a b, with the checksum of its time.
    let first = Array("KVDLOG1\n".utf8) + [6, 0, 0, 0, 0x06, 0x91, 0x92, 0xFA, 1, 0, 0, 0] + Array("ab".utf8)
    directory.write(first, to: "kvd.log")
    XCTAssertTrue(try refused().contains("kvd.log is of format 1, this kvd's is 3"))
    XCTAssertEqual(directory.read("kvd.log"), first)
    _ = try repair()
    let kvd = try Kvd(in: directory)
    XCTAssertEqual(try Connection(to: kvd.port).ask("GET a"), "VALUE b")
  }

  /// Two SETs, as the daemon before this one has written them: a whole log, and one whose last record is torn.
  func testALogOfTheSecondFormatIsRefusedAndRepairedIntoOneOfThisOne() throws {
    let second: [UInt8] = [
      0x4B, 0x56, 0x44, 0x4C, 0x4F, 0x47, 0x0D, 0x0A, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    ]
    let header = second + Checksum.bytes(second)
    let records = [("a", "b"), ("c", "de")].map { Checksum.record($0, $1, salt: 1) }
    for cut in 0..<3 {
      let log = Array((header + header + records[0] + records[1]).dropLast(cut))
      directory.write(log, to: "kvd.log")
      XCTAssertTrue(try refused().contains("kvd.log is of format 2, this kvd's is 3"))
      XCTAssertEqual(directory.read("kvd.log"), log)
      _ = try repair()
      let kvd = try Kvd(in: directory)
      let client = try Connection(to: kvd.port)
      XCTAssertEqual(try client.ask("GET a"), "VALUE b")
      XCTAssertEqual(try client.ask("GET c"), cut == 0 ? "VALUE de" : "NONE")
      kvd.kill()
    }
  }

  /// One commit of three requests: the records that are whole are kept.
  func testRepairKeepsTheWholeRecordsOfADamagedBatch() throws {
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    try client.send("SET a one\nSET b two\nSET c three\n")
    for _ in 0..<3 { XCTAssertEqual(try client.answers.next(), "OK") }
    XCTAssertEqual(try client.ask("SET d four"), "OK")
    kvd.kill()
    var bytes = directory.read("kvd.log")
    let record = 8 + 4 + "aone".utf8.count
    bytes[Self.headerSize + Self.batchHeader + record + 13] ^= 1  // of b's value
    directory.write(bytes, to: "kvd.log")
    XCTAssertTrue(try refused().contains("damaged at offset \(Self.headerSize), "))
    let notes = try repair()
    XCTAssertTrue(notes.contains { $0.hasPrefix("kvd: 3 records kept") }, "\(notes)")
    let again = try Kvd(in: directory)
    let reader = try Connection(to: again.port)
    for (request, answer) in [
      ("GET a", "VALUE one"), ("GET b", "NONE"), ("GET c", "VALUE three"), ("GET d", "VALUE four"),
    ] { XCTAssertEqual(try reader.ask(request), answer) }
  }

  /// A value that holds the bytes of a whole record, torn off behind them: no record follows the tear.
  func testAValueIsNotTakenForARecord() throws {
    let record = Array(try written(["SET a one"]).dropFirst(Self.headerSize))
    directory.remove("kvd.log")
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    XCTAssertEqual(try client.ask("SET a one"), "OK")
    try client.send(Array("SET k ".utf8) + record + [10])
    XCTAssertEqual(try client.answers.next(), "OK")
    kvd.kill()
    directory.write(Array(directory.read("kvd.log").dropLast()), to: "kvd.log")
    let again = try Kvd(in: directory)
    XCTAssertEqual(try Connection(to: again.port).ask("GET a"), "VALUE one")
  }

  /// Its first file would be descriptor 1 or 2, and notes would be written into the log.
  func testClosedOrFullStandardDescriptorsAreNotTheLogs() throws {
    let whole = try written(["SET a one"])
    for redirection in ["exec >&-", "exec >/dev/full", "exec >&- 2>&-", "exec <&- >&- 2>&-"] {
      let kvd = try Kvd(arguments: ["--port", "0", "--dir", directory.path], limits: redirection)
      XCTAssertEqual(kvd.wait(), 1, redirection)
      XCTAssertEqual(directory.read("kvd.log"), whole, redirection)
      XCTAssertEqual(directory.read("kvd.lock"), [], redirection)
    }
    let help = try Kvd(arguments: ["--help"], limits: "exec >/dev/full")
    XCTAssertEqual(help.wait(), 1)
    XCTAssertNotNil(try help.notes.next(containing: "standard output: No space left on device"))
  }

  /// The log after each request was answered by itself.
  private func written(_ requests: [String]) throws -> [UInt8] {
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    for request in requests { XCTAssertEqual(try client.ask(request), "OK") }
    kvd.kill()
    return directory.read("kvd.log")
  }

  /// Starts a daemon that does not, and what it says.
  private func refused() throws -> String {
    let kvd = try Kvd(arguments: ["--port", "0", "--dir", directory.path])
    XCTAssertEqual(kvd.wait(), 1)
    return try kvd.notes.rest().joined(separator: "\n")
  }

  private func repair() throws -> [String] {
    let kvd = try Kvd(arguments: ["repair", "--dir", directory.path])
    XCTAssertEqual(kvd.wait(), 0)
    return try kvd.notes.rest()
  }
}

/// Logs as earlier daemons have written them.
private enum Checksum {
  static func bytes(_ bytes: [UInt8], salt: [UInt8] = []) -> [UInt8] {
    var sum: UInt32 = 0xFFFF_FFFF
    for byte in salt + bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
    }
    return number(~sum)
  }

  static func record(_ key: String, _ value: String, salt: UInt64) -> [UInt8] {
    let body = number(UInt32(key.utf8.count)) + Array(key.utf8) + Array(value.utf8)
    let length = number(UInt32(body.count))
    return length + bytes(length + body, salt: withUnsafeBytes(of: salt.littleEndian) { Array($0) }) + body
  }

  private static func number(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }
}
