import Glibc
import TestSupport
import XCTest

/// What is answered to what, however it arrives.
final class ProtocolTests: XCTestCase {
  private let directory = Directory()

  func testAnswers() throws {
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    let dialogue = [
      ("PING", "PONG"), ("GET a", "NONE"), ("SET a one two  three ", "OK"), ("GET a", "VALUE one two  three "),
      ("SET a ", "OK"), ("GET a", "VALUE "), ("SET ключ значение €", "OK"), ("GET ключ", "VALUE значение €"),
      ("SET r v\r", "OK"), ("GET r", "VALUE v\r"), ("", "ERROR no command"), ("PING ", "ERROR PING takes nothing"),
      ("ping", "ERROR unknown command"), ("DEL a", "ERROR unknown command"),
      ("GET", "ERROR GET takes a key without spaces"),
      ("GET a b", "ERROR GET takes a key without spaces"),
      ("SET a", "ERROR SET takes a key without spaces, and a value"),
      ("SET  a", "ERROR SET takes a key without spaces, and a value"), ("GET b", "NONE"),
    ]
    for (request, answer) in dialogue { XCTAssertEqual(try client.ask(request), answer, request) }
  }

  func testBytesAreKept() throws {
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    // All but the newline; no UTF-8.
    let value = (0...255).map { UInt8($0) }.filter { $0 != 10 }
    try client.send(Array("SET k ".utf8) + value + Array("\nGET k\n".utf8))
    XCTAssertEqual(try client.answers.next(), "OK")
    XCTAssertEqual(try client.answers.nextBytes(), Array("VALUE ".utf8) + value)
  }

  func testHalfLines() throws {
    let kvd = try Kvd(in: directory)
    let (client, other) = (try Connection(to: kvd.port), try Connection(to: kvd.port))
    for byte in "SET half line\nGET half\nPING\n" {
      try client.send(String(byte))
      XCTAssertEqual(try other.ask("PING"), "PONG")
    }
    for answer in ["OK", "VALUE line", "PONG"] { XCTAssertEqual(try client.answers.next(), answer) }
  }

  func testLineThatNeverEndsIsNotAnswered() throws {
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    try client.send("SET a b\nSET a c")
    client.endSending()
    XCTAssertEqual(try client.answers.rest(), ["OK"])
    XCTAssertEqual(try Connection(to: kvd.port).ask("GET a"), "VALUE b")
  }

  func testPipelining() throws {
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    let numbers = 0..<5000
    try client.send(numbers.map { "SET k\($0 % 7) \($0)\nGET k\($0 % 7)\n" }.joined())
    for number in numbers {
      XCTAssertEqual(try client.answers.next(), "OK")
      XCTAssertEqual(try client.answers.next(), "VALUE \(number)")
    }
  }

  func testLongestLine() throws {
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    let value = String(repeating: "x", count: (64 << 10) - 6)
    XCTAssertEqual(try client.ask("SET k \(value)"), "OK")
    XCTAssertEqual(try client.ask("SET k \(value)x"), "ERROR line too long")
    XCTAssertEqual(try client.ask("GET k"), "VALUE \(value)")
  }

  func testLineOfAMegabyteIsSkipped() throws {
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    try client.send("SET k " + String(repeating: "x", count: 1 << 20))
    // Before it has ended.
    XCTAssertEqual(try client.answers.next(), "ERROR line too long")
    try client.send(String(repeating: "y", count: 1 << 20) + "\nPING\n")
    XCTAssertEqual(try client.answers.next(), "PONG")
    XCTAssertEqual(try client.ask("GET k"), "NONE")
  }

  /// What a web page makes a browser send: no line of its body is executed.
  func testOtherProtocolsAreClosed() throws {
    let kvd = try Kvd(in: directory)
    for beginning in [
      "POST / HTTP/1.1\r\nHost: localhost:7379\r\nContent-Length: 9\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.0\n",
      "FROB / HTTP/1.1\r\n", "OPTIONS * HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n", "Host: localhost\r\n", "POST\r\n",
      "\u{16}\u{3}\u{1} hello\n",
    ] {
      let client = try Connection(to: kvd.port)
      try client.send("PING\n" + beginning + "SET k v\nPING\n")
      XCTAssertEqual(try client.answers.rest(), ["PONG", "ERROR another protocol: closed"], beginning)
    }
    let client = try Connection(to: kvd.port)
    XCTAssertEqual(try client.ask("GET k"), "NONE")
    // These are ours.
    XCTAssertEqual(try client.ask("SET k POST / HTTP/1.1"), "OK")
    XCTAssertEqual(try client.ask("SET Host: HTTP/1.1"), "OK")
    XCTAssertEqual(try client.ask("GET Host:"), "VALUE HTTP/1.1")
    XCTAssertEqual(try client.ask("GET k"), "VALUE POST / HTTP/1.1")
  }

  func testJunk() throws {
    let kvd = try Kvd(in: directory)
    let client = try Connection(to: kvd.port)
    var random = Random(seed: 1)
    let junk = (0..<1 << 20).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    try client.send(junk)
    client.endSending()
    let answers = try client.answers.rest()
    XCTAssertEqual(answers.count, junk.count { $0 == 10 })
    XCTAssertTrue(answers.allSatisfy { $0.hasPrefix("ERROR ") })
    XCTAssertEqual(try Connection(to: kvd.port).ask("PING"), "PONG")
  }

  func testCommandLine() throws {
    for (arguments, words) in [
      ([], "--dir is missing"), (["--dir", directory.path], "--port is missing"), (["--port"], "--port wants a value"),
      (["--port", "70000", "--dir", "/"], "--port: '70000' is no such number"),
      (["--prot", "1"], "unknown argument '--prot'"),
    ] {
      let kvd = try Kvd(arguments: arguments)
      XCTAssertEqual(kvd.wait(), 2)
      XCTAssertNotNil(try kvd.notes.next(containing: words), words)
    }
    let kvd = try Kvd(arguments: ["--port", "0", "--dir", "/nonexistent"])
    XCTAssertEqual(kvd.wait(), 1)
    XCTAssertNotNil(try kvd.notes.next(containing: "No such file or directory"))
  }
}
