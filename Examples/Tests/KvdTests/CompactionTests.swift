import Glibc
import TestSupport
import XCTest

/// The log is rewritten by a child while the daemon serves.
final class CompactionTests: XCTestCase {
  private let directory = Directory()
  private var random = Random(seed: 7)

  override func setUp() { directory.write("compact-threshold = 64k\n", to: "kvd.conf") }

  func testCompactionUnderLoad() throws {
    let kvd = try Kvd(in: directory)
    var writers = try Writers(to: kvd, valueSize: 500)
    for _ in 0..<5 {
      try writeUntil("compacted ", on: kvd, &writers)
    }
    XCTAssertEqual(try writers.complaints(about: kvd, earlier: [:]), [])
    kvd.kill()
    let again = try Kvd(in: directory)
    XCTAssertEqual(try writers.complaints(about: again, earlier: [:]), [])
  }

  func testChildThatIsKilledIsReapedAndAnotherTries() throws {
    let kvd = try Kvd(in: directory)
    var writers = try Writers(to: kvd, valueSize: 500)
    var failures = 0
    while failures < 3 {
      let note = try writeUntil("by process ", on: kvd, &writers)
      let child = try XCTUnwrap(pid_t(note.split(separator: " ").last!))
      kill(child, SIGKILL)
      // It may have been faster.
      let end = try XCTUnwrap(try kvd.notes.next(containing: "compact"))
      if end.contains("ended by SIGKILL") { failures += 1 }
      XCTAssertNil(readWhole("/proc/\(child)/stat"), "a zombie is left")
    }
    XCTAssertEqual(directory.names.filter { $0.contains("compact-") }, [])
    try writeUntil("compacted ", on: kvd, &writers)
    XCTAssertEqual(try writers.complaints(about: kvd, earlier: [:]), [])
  }

  func testDaemonThatIsKilledWhileItCompacts() throws {
    var state: [String: Int] = [:]
    var last = 0
    var kvd = try Kvd(in: directory)
    for round in 0..<6 {
      var writers = try Writers(to: kvd, after: last, valueSize: 500)
      // At its beginning, and with the child's work done.
      try writeUntil(round % 2 == 0 ? "by process " : "compacted ", on: kvd, &writers)
      kvd.kill()
      kvd = try Kvd(in: directory)
      XCTAssertEqual(try writers.complaints(about: kvd, earlier: state), [], "round \(round)")
      state = try writers.state(of: kvd, earlier: state)
      last = writers.last
    }
  }

  func testTerminationWhileItCompacts() throws {
    let kvd = try Kvd(in: directory)
    var writers = try Writers(to: kvd, valueSize: 500)
    try writeUntil("by process ", on: kvd, &writers)
    kvd.send(SIGTERM)
    writers.leave()
    XCTAssertEqual(kvd.wait(), 0)
    let again = try Kvd(in: directory)
    XCTAssertEqual(try writers.complaints(about: again, earlier: [:]), [])
  }

  func testRemainsOfEarlierDaemonsAreRemoved() throws {
    directory.write("half", to: "kvd.log.compact-1-2-3.partial")
    directory.write("whole", to: "kvd.log.compact-1-2-3")
    let kvd = try Kvd(in: directory)
    XCTAssertEqual(Set(directory.names), ["kvd.conf", "kvd.lock", "kvd.log"])
    XCTAssertEqual(try Connection(to: kvd.port).ask("PING"), "PONG")
  }

  @discardableResult
  private func writeUntil(_ words: String, on kvd: Kvd, _ writers: inout Writers) throws -> String {
    while true {
      try writers.write(50, random: &random)
      while kvd.notes.isReadable(within: 0) {
        guard let note = try kvd.notes.next() else { throw Connection.Failure(description: "the daemon has ended") }
        if note.contains(words) { return note }
      }
    }
  }
}
