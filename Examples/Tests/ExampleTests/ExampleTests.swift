import XCTest

/// The examples that check themselves.
final class ExampleTests: XCTestCase {
  func test_worker() throws {
    let outcome = try Program(name: "worker").run()
    XCTAssertEqual(outcome.status, 0, outcome.output + outcome.complaint)
    XCTAssertEqual(
      outcome.output,
      """
      yes 64 tasks have booked 100 times each, and nothing was lost
      yes all on the ledger's thread
      yes a timer of its loop is on the actor already
      yes after its thread's end it still answers
      yes on the thread for loops that have ended
      yes what it calls on the loop says that the loop has ended
      all as it should be

      """)
  }

  func test_supervisor() throws {
    let outcome = try Program(name: "supervisor").run()
    XCTAssertEqual(outcome.status, 0, outcome.output + outcome.complaint)
    XCTAssertEqual(
      outcome.output,
      """
      yes anna has been started, and says hello
      yes bert has been started, and says hello
      yes anna counts 4 lines in a file that came as a descriptor
      yes anna reports by a descriptor, and the kernel says the same
      yes bert counts 4 lines in a file that came as a descriptor
      yes bert reports by a descriptor, and the kernel says the same
      yes anna was given the right to send to bert, and has him count
      yes anna was killed: her port is gone, and she was started again
      yes the new anna counts as the old one did
      yes bert dies over a request: who waits for the answer is told
      yes and he was started again too
      yes without a supervisor they go home, both with exit code 0

      """)
  }

  /// As of the tools: what was printed and lost is not an exit status of 0.
  func test_lostOutput() throws {
    for example in ["supervisor", "worker"] {
      for target in [Program.Output.full, .closed] {
        let outcome = try Program(name: example).run(to: target)
        XCTAssertEqual(outcome.status, 1, example)
        XCTAssertTrue(
          outcome.complaint.hasSuffix("standard output could not be written\n"), "\(example): \(outcome.complaint)")
      }
    }
  }
}
