import XCTest

/// The examples that check themselves.
final class ExampleTests: XCTestCase {
  func test_patterns() {
    let outcome = Tool("patterns").run([])
    XCTAssertEqual(outcome.status, 0, outcome.output + outcome.complaint)
    XCTAssertEqual(
      outcome.output,
      """
      a timer on each clock
      frames at 100 Hz, late ones dropped
      five changes, one commit
      what can wait comes last
      every mode in turn, until the answer is there
      ten timers, one wake

      """)
  }
}
