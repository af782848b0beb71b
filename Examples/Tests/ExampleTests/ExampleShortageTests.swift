import Foundation
import XCTest

/// The examples with too few descriptors: each ends soon with the cause on standard error, or has enough.
final class ExampleShortageTests: XCTestCase {
  func test_RLK_ERROR_13_examplesWithFewDescriptors() throws {
    for name in ["supervisor", "worker"] {
      for limit in 0...20 {
        let start = Date()
        let outcome = try Program(name: name).run(limit: "ulimit -n \(limit)")
        if outcome.status == 0 { continue }
        // 124: it hangs; 128 and more: a signal. 127 is that of a program whose libraries cannot be opened.
        XCTAssertTrue(outcome.status < 128 && outcome.status != 124, "\(name) with \(limit): \(outcome)")
        XCTAssertFalse(outcome.complaint.isEmpty, "\(name) with \(limit): \(outcome)")
        XCTAssertLessThan(Date().timeIntervalSince(start), 20, "\(name) with \(limit)")
      }
    }
  }
}
