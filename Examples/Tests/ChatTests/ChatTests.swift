import Foundation
import TestSupport
import XCTest

/// Visitors of the chat. They wait for lines, and for nothing else.
final class ChatTests: XCTestCase {
  func test_talk() throws {
    let chat = try Chat()
    let (ada, welcome) = try chat.visit()
    XCTAssertEqual(welcome, "* welcome, guest-1: /name NAME, /who and /quit are for you")
    let (bob, _) = try chat.visit()
    XCTAssertEqual(try ada.answers.next(), "* guest-2 has come")
    try ada.send("/name Ada\nhello\r\n")
    XCTAssertEqual(try ada.answers.next(), "* guest-1 is Ada")
    XCTAssertEqual(try bob.answers.next(), "* guest-1 is Ada")
    XCTAssertEqual(try bob.answers.next(), "Ada: hello")
    XCTAssertEqual(try bob.ask("/name Ada"), "* somebody is called so")
    XCTAssertEqual(try bob.ask("/who"), "* here: Ada, guest-2")
    try bob.send("what I ")
    try bob.send("say\n")
    XCTAssertEqual(try ada.answers.next(), "guest-2: what I say")
    XCTAssertEqual(try bob.ask("/quit"), "* goodbye")
    XCTAssertNil(try bob.answers.next())
    XCTAssertEqual(try ada.answers.next(), "* guest-2 has gone")

    chat.send(SIGHUP)
    XCTAssertEqual(try chat.lines.next(), "here: Ada")
    try chat.type("dinner is ready")
    XCTAssertEqual(try ada.answers.next(), "* the operator says: dinner is ready")
    try chat.type("quit")
    XCTAssertEqual(try ada.answers.rest(), ["* the chat is over"])
    let (rest, status) = try chat.end()
    XCTAssertEqual(rest, ["ended"])
    XCTAssertEqual(status, 0)
  }

  /// A signal ends it; the end of its input does not.
  func test_signal() throws {
    for signal in [SIGTERM, SIGINT] {
      let chat = try Chat()
      try chat.endInput()
      let (visitor, _) = try chat.visit()
      XCTAssertEqual(try visitor.ask("/who"), "* here: guest-1")
      chat.send(signal)
      XCTAssertEqual(try visitor.answers.rest(), ["* the chat is over"])
      let (rest, status) = try chat.end()
      XCTAssertEqual(rest, ["ended"])
      XCTAssertEqual(status, 0)
    }
  }

  func test_idle() throws {
    let chat = try Chat("--idle", "50")
    let (visitor, _) = try chat.visit()
    XCTAssertEqual(try visitor.answers.rest(), ["* nothing was heard for 0.05 seconds"])
    chat.send(SIGTERM)
    XCTAssertEqual(try chat.end().status, 0)
  }

  /// Who does not read is not waited for, and costs the others nothing.
  func test_slowReader() throws {
    let chat = try Chat()
    let (slow, _) = try chat.visit()
    let (talker, _) = try chat.visit()
    // More than all buffers of a connection hold.
    let lines = String(repeating: String(repeating: "x", count: 4000) + "\n", count: 256)
    for _ in 0..<16 { try talker.send(lines) }
    XCTAssertEqual(try talker.answers.next(), "* guest-1 has gone")
    XCTAssertEqual(try talker.ask("/who"), "* here: guest-2")
    chat.send(SIGTERM)
    XCTAssertEqual(try chat.end().status, 0)
    withExtendedLifetime(slow) {}
  }

  func test_lineThatNeverEnds() throws {
    let chat = try Chat()
    let (visitor, _) = try chat.visit()
    try visitor.send(String(repeating: "x", count: 5000))
    XCTAssertEqual(try visitor.answers.rest(), ["* a line is too long"])
    chat.send(SIGTERM)
    XCTAssertEqual(try chat.end().status, 0)
  }
}
