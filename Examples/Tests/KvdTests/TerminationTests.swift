import Glibc
import TestSupport
import XCTest

/// SIGTERM: what has arrived is answered, and the daemon ends with 0.
final class TerminationTests: XCTestCase {
  private let directory = Directory()

  func testPipelinedRequestsAreAnswered() throws {
    let kvd = try Kvd(in: directory)
    let clients = try (0..<4).map { _ in try Connection(to: kvd.port) }
    let numbers = 0..<500
    for (index, client) in clients.enumerated() {
      try client.send(numbers.map { "SET c\(index)k\($0) \($0)\nGET c\(index)k\($0)\n" }.joined())
    }
    // The rest is somewhere between here and there.
    XCTAssertEqual(try clients[0].answers.next(), "OK")
    kvd.send(SIGTERM)
    for (index, client) in clients.enumerated() {
      let expected = numbers.flatMap { ["OK", "VALUE \($0)"] }.dropFirst(index == 0 ? 1 : 0)
      XCTAssertEqual(try client.answers.rest(), Array(expected), "client \(index)")
      client.endSending()
    }
    XCTAssertEqual(kvd.wait(), 0)

    let again = try Kvd(in: directory)
    let reader = try Connection(to: again.port)
    for number in numbers { XCTAssertEqual(try reader.ask("GET c3k\(number)"), "VALUE \(number)") }
  }

  /// The signal is the first thing that it sees: nothing is accepted, nothing is read.
  func testWhatArrivedBeforeTheSignalIsAnswered() throws {
    let kvd = try Kvd(in: directory)
    let early = try Connection(to: kvd.port)
    XCTAssertEqual(try early.ask("PING"), "PONG")
    kvd.send(SIGSTOP)
    let late = try (0..<20).map { _ in try Connection(to: kvd.port) }
    let clients = [early] + late
    for client in clients { try client.send("SET k v\nGET k\nPI") }
    kvd.send(SIGTERM)
    kvd.send(SIGCONT)
    for client in clients {
      XCTAssertEqual(try client.answers.rest(), ["OK", "VALUE v"])
      client.endSending()
    }
    XCTAssertEqual(kvd.wait(), 0)
  }

  /// 30 MB of answers are fetched after the signal.
  func testSlowReaderGetsItsAnswers() throws {
    directory.write("drain-timeout = 60s\noutput-limit = 64k\n", to: "kvd.conf")
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    let value = String(repeating: "v", count: 60_000)
    XCTAssertEqual(try client.ask("SET big \(value)"), "OK")
    let count = 500
    try client.send(String(repeating: "GET big\n", count: count))
    kvd.send(SIGTERM)
    XCTAssertNotNil(try kvd.notes.next(containing: "ending"))
    let answer = Array("VALUE \(value)".utf8)
    for _ in 0..<count { XCTAssertTrue(try client.answers.nextBytes() == answer) }
    XCTAssertNil(try client.answers.next())
    client.endSending()
    XCTAssertEqual(kvd.wait(), 0)
  }

  func testNoNewConnections() throws {
    directory.write("drain-timeout = 60s\n", to: "kvd.conf")
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    XCTAssertEqual(try client.ask("PING"), "PONG")
    kvd.send(SIGTERM)
    XCTAssertNil(try client.answers.next())
    XCTAssertThrowsError(try Connection(to: kvd.port))
    // It waits for the client, unless it is told again.
    kvd.send(SIGTERM)
    XCTAssertEqual(kvd.wait(), 0)
  }

  func testClientThatDoesNotCloseIsNotWaitedForForEver() throws {
    directory.write("drain-timeout = 50ms\n", to: "kvd.conf")
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    XCTAssertEqual(try client.ask("SET a b"), "OK")
    kvd.send(SIGINT)
    XCTAssertEqual(kvd.wait(), 0)
  }

  func testNobodyIsThere() throws {
    let kvd = try Kvd(in: directory)
    kvd.send(SIGTERM)
    XCTAssertEqual(kvd.wait(), 0)
  }
}
