import Foundation
import XCTest

/// The stories of the demo with too few descriptors or without threads, and without an output. All of them are told by
/// `make demo`, and by `make test`.
final class DemoTests: XCTestCase {
  private let demo = Program(name: "demo")

  private func stories() throws -> [String] {
    let stories = try demo.run(["--list"]).output.split(separator: "\n").map { String($0.prefix { $0 != " " }) }
    XCTAssertGreaterThan(stories.count, 5)
    return stories
  }

  /// It ends soon, says what it could not get, and its status says so too; or it has enough. A story may take its time if
  /// it can be told, and the machine may be busy. LeakSanitizer needs descriptors of its own, and is not what is tested.
  private func tell(_ story: String, limit: String, by starter: String = "") throws -> Program.Outcome {
    let start = Date()
    let noLeaks = "export LSAN_OPTIONS=\"$LSAN_OPTIONS:detect_leaks=0\""
    let outcome = try demo.run([story], limit: "\(noLeaks); \(limit)", by: starter)
    if outcome.status != 0 {
      let said = "\(story) (\(limit)): \(outcome)"
      XCTAssertLessThan(Date().timeIntervalSince(start), 20, said)
      XCTAssertTrue(outcome.status < 128 && outcome.status != 124, said)
      XCTAssertFalse(outcome.complaint.isEmpty, said)
    }
    return outcome
  }

  func test_RLK_ERROR_13_eachStoryWithFewDescriptors() throws {
    let stories = try self.stories()
    var failed = 0
    for story in stories {
      for limit in 0...20 {
        let outcome = try tell(story, limit: "ulimit -n \(limit)")
        guard outcome.status != 0 else { break }  // enough: so are more, but for echo, whose number varies
        failed += 1
        // The loader of libraries has its own words, and the shell.
        if limit > 5 { XCTAssertTrue(outcome.complaint.contains("RLIMIT_NOFILE is \(limit)"), "\(story): \(outcome)") }
      }
    }
    XCTAssertGreaterThan(failed, stories.count * 3)
  }

  /// The superuser is bound by no limit of processes: the demo is a user's who has none.
  func test_RLK_ERROR_13_withoutThreads() throws {
    try XCTSkipUnless(geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0, "needs the superuser, and setpriv")
    for story in try stories() {
      let outcome = try tell(story, limit: "ulimit -u 1", by: "/usr/bin/setpriv --reuid 61234 --clear-groups")
      guard outcome.complaint.hasPrefix("demo") else { continue }  // the folder may be closed to that user
      XCTAssertTrue(outcome.complaint.contains("RLIMIT_NPROC is 1"), "\(story): \(outcome)")
    }
  }

  func test_lostOutput() throws {
    for arguments in [["--list"], ["--help"], ["modes"]] {
      for target in [Program.Output.full, .closed] {
        let outcome = try demo.run(arguments, to: target)
        XCTAssertEqual(outcome.status, 1)
        XCTAssertTrue(outcome.complaint.hasSuffix("standard output could not be written\n"), outcome.complaint)
      }
    }
  }
}
