import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// The programs of the guide, as built: each checks itself and exits with 0 if all was as it says.
final class ExampleTests: XCTestCase {
  func test_events() throws {
    let test = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let child = try RunLoop.spawn(
      test.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/events-example")
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 {}
    XCTAssertEqual(status, 0)
  }
}
