import Glibc
import TestSupport
import XCTest

/// Many clients, slow ones, and more than there are descriptors for.
final class LoadTests: XCTestCase {
  private let directory = Directory()

  override class func setUp() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// All write at the same moment; what is ready at once is on the disk with few writes.
  func testThousandClients() throws {
    let count = 1000
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    try XCTSkipIf(
      limit.rlim_cur < count + 100, "SKIPPED 1: \(limit.rlim_cur) descriptors are too few for \(count) clients")
    let kvd = try Kvd(in: directory)
    let clients = try (0..<count).map { _ in try Connection(to: kvd.port) }
    for client in clients { XCTAssertEqual(try client.ask("PING"), "PONG") }

    let before = kvd.number("syscw", in: "io")
    kvd.send(SIGSTOP)
    for (number, client) in clients.enumerated() { try client.send("SET k\(number) \(number)\nGET k\(number)\n") }
    kvd.send(SIGCONT)
    for (number, client) in clients.enumerated() {
      XCTAssertEqual(try client.answers.next(), "OK")
      XCTAssertEqual(try client.answers.next(), "VALUE \(number)")
    }
    if let before, let after = kvd.number("syscw", in: "io") {
      XCTAssertLessThan(after - before, count / 10, "writes for \(count) clients")
    }
    for (number, client) in clients.enumerated() {
      XCTAssertEqual(try client.ask("GET k\((number + 1) % count)"), "VALUE \((number + 1) % count)")
    }
  }

  /// Asks for 120 MB and reads nothing: others are served, the daemon does not grow, and nothing is missing later.
  func testSlowReader() throws {
    directory.write("output-limit = 64k\n", to: "kvd.conf")
    let kvd = try Kvd(in: directory)
    let (slow, other) = (try Connection(to: kvd.port), try Connection(to: kvd.port))
    let value = String(repeating: "v", count: 60_000)
    XCTAssertEqual(try other.ask("SET big \(value)"), "OK")
    let count = 2000
    try slow.send(String(repeating: "GET big\n", count: count))
    XCTAssertTrue(slow.answers.isReadable(within: 60_000))
    for number in 0..<200 {
      XCTAssertEqual(try other.ask("SET n \(number)"), "OK")
      XCTAssertEqual(try other.ask("GET n"), "VALUE \(number)")
    }
    let answer = Array("VALUE \(value)".utf8)
    for _ in 0..<count { XCTAssertTrue(try slow.answers.nextBytes() == answer) }
    XCTAssertEqual(try slow.ask("PING"), "PONG")
    if let peak = kvd.number("VmHWM", in: "status") { XCTAssertLessThan(peak, 60_000, "kB") }
  }

  func testClientsBeyondTheLimitAreTurnedAway() throws {
    directory.write("max-clients = 3\n", to: "kvd.conf")
    let kvd = try Kvd(in: directory)
    var clients = try (0..<3).map { _ in try Connection(to: kvd.port) }
    for client in clients { XCTAssertEqual(try client.ask("PING"), "PONG") }
    XCTAssertEqual(try Connection(to: kvd.port).answers.rest(), ["ERROR too many clients"])
    // A place is free when the daemon has seen the end: then it answers with its own.
    let leaver = clients.removeLast()
    leaver.endSending()
    XCTAssertEqual(try leaver.answers.rest(), [])
    XCTAssertEqual(try Connection(to: kvd.port).ask("PING"), "PONG")
  }

  func testDescriptorsRunOut() throws {
    let kvd = try Kvd(in: directory, limits: "ulimit -n 40")
    var clients = try (0..<50).map { _ in try Connection(to: kvd.port) }
    let turnedAway = try clients.filter { client in
      // One that was turned away may be reset by what it sends.
      try? client.send("PING\n")
      return try client.answers.next() != "PONG"
    }
    XCTAssertGreaterThan(turnedAway.count, 10)
    XCTAssertLessThan(turnedAway.count, 40)
    XCTAssertNotNil(try kvd.notes.next(containing: "Too many open files"))
    for client in clients { client.endSending() }
    for client in clients { XCTAssertEqual(try client.answers.rest(), []) }
    clients = []
    XCTAssertEqual(try Connection(to: kvd.port).ask("PING"), "PONG")
  }
}
