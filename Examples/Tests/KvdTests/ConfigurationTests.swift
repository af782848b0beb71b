import Glibc
import TestSupport
import XCTest

/// kvd.conf, SIGHUP, and clients that say nothing.
final class ConfigurationTests: XCTestCase {
  private let directory = Directory()

  func testHangupReadsItAgain() throws {
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    XCTAssertEqual(try client.ask("PING"), "PONG")
    directory.write("# shorter\n  idle-timeout=50ms   # than it was\n\n", to: "kvd.conf")
    kvd.send(SIGHUP)
    XCTAssertNotNil(try kvd.notes.next(containing: "configuration read"))
    // It waited for five minutes before.
    XCTAssertNil(try client.answers.next())

    directory.write("max-line = 20\n", to: "kvd.conf")
    kvd.send(SIGHUP)
    XCTAssertNotNil(try kvd.notes.next(containing: "configuration read"))
    let other = try Connection(to: kvd.port)
    XCTAssertEqual(try other.ask("SET k 345678901234567"), "ERROR line too long")
    XCTAssertEqual(try other.ask("SET k 34567890123456"), "OK")
  }

  func testMistakesLeaveItAsItWas() throws {
    directory.write("idle-timeout = 50ms\n", to: "kvd.conf")
    let kvd = try Kvd(in: directory)
    directory.write("idle-timeout = 300s\nmax-line = huge\nfriend = 1\nnonsense\nidle-timeout = 5\n", to: "kvd.conf")
    kvd.send(SIGHUP)
    for words in [
      "kvd.conf:2: wants 16 to 16m", "kvd.conf:3: unknown name 'friend'", "kvd.conf:4: not of the form",
      "kvd.conf:5: wants a time", "stays as it was",
    ] { XCTAssertNotNil(try kvd.notes.next(containing: words), words) }
    XCTAssertNil(try Connection(to: kvd.port).answers.next())
  }

  func testMistakesAtTheStartEndIt() throws {
    directory.write("max-clients = 0\n", to: "kvd.conf")
    let kvd = try Kvd(arguments: ["--port", "0", "--dir", directory.path])
    XCTAssertEqual(kvd.wait(), 1)
    XCTAssertNotNil(try kvd.notes.next(containing: "kvd.conf:1: wants 1 to 1000000"))
  }

  /// One is silent, one is not. Judged only if this process came to speak in time.
  func testOnlyIdleClientsAreDropped() throws {
    directory.write("idle-timeout = 300ms\n", to: "kvd.conf")
    let kvd = try Kvd(in: directory)
    let clock = ContinuousClock()
    for _ in 0..<10 {
      let (busy, silent) = (try Connection(to: kvd.port), try Connection(to: kvd.port))
      // Half a line is not silence, but it is no request either.
      try silent.send("PI")
      var (longest, last, answer) = (Duration.zero, clock.now, Optional("PONG"))
      while answer == "PONG", !silent.answers.isReadable(within: 10) {
        answer = try busy.ask("PING")
        longest = max(longest, last.duration(to: clock.now))
        last = clock.now
      }
      guard longest < .milliseconds(300) else { continue }
      XCTAssertEqual(answer, "PONG")
      XCTAssertNil(try silent.answers.next())
      XCTAssertEqual(try busy.ask("PING"), "PONG")
      return
    }
    throw XCTSkip("SKIPPED 1: this machine is too busy to say something every 300 ms")
  }
}
