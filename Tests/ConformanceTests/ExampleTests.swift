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
      three requests, one commit after them
      what can wait comes last
      every mode in turn, until the answer is there
      every mode in turn, because of a signal
      a deadline that is set again
      a loop names what it holds
      a loop inside another one
      ten timers, one wake

      """)
  }
}
