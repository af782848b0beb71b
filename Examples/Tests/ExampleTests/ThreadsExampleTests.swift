import XCTest

/// The programs of docs/guide/threads.md.
final class ThreadsExampleTests: XCTestCase {
  func test_theExampleIsAsItSays() throws {
    let outcome = try Program(name: "threads").run()
    XCTAssertEqual(outcome.status, 0, outcome.output + outcome.complaint)
    XCTAssertTrue(outcome.output.hasSuffix("all as it should be\n"), outcome.output)
  }
}
