import Glibc
import RunLoopKit
import RunLoopKitC
import RunLoopPorts
import XCTest

/// What C gets for an error that Swift would throw.
final class StatusTests: XCTestCase {
  private static let ofKit: [(name: String, error: RunLoopError, number: Int32)] = [
    ("alreadyStarted", .alreadyStarted, EALREADY),
    ("busy", .busy, EBUSY),
    ("commonModeNotRunnable", .commonModeNotRunnable, EINVAL),
    ("forked", .forked, ECHILD),
    ("hostedElsewhere", .hostedElsewhere, EALREADY),
    ("inSignalHandler", .inSignalHandler, ENOTSUP),
    ("invalidItem", .invalidItem, ENOENT),
    ("itemInOtherLoop", .itemInOtherLoop, EXDEV),
    ("loopEnded", .loopEnded, ESHUTDOWN),
    ("messageTooLarge", .messageTooLarge, EMSGSIZE),
    ("noReply", .noReply, ECANCELED),
    ("notStarted", .notStarted, ESRCH),
    ("portFull", .portFull, EAGAIN),
    ("portInvalid", .portInvalid, EPIPE),
    ("timedOut", .timedOut, ETIMEDOUT),
    ("tooManyDescriptors", .tooManyDescriptors, ETOOMANYREFS),
    ("wouldDeadlock", .wouldDeadlock, EDEADLK),
    ("wrongThread", .wrongThread, EPERM),
  ]

  private static let ofPorts: [(name: String, error: RunLoopError, number: Int32)] = [
    ("badName", .badName, EINVAL),
    ("nameTaken", .nameTaken, EADDRINUSE),
    ("noSuchPort", .noSuchPort, ENOENT),
    ("refused", .refused, EACCES),
  ]

  func test_RLK_C_26_eachErrorHasItsNumber() {
    for (name, error, number) in StatusTests.ofKit + StatusTests.ofPorts {
      XCTAssertEqual(Status.of(error), -number, name)
    }
  }

  /// By the lists of what the modules show.
  func test_RLK_C_26_noErrorIsMissing() throws {
    let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    for (module, known) in [("RunLoopKit", StatusTests.ofKit), ("RunLoopPorts", StatusTests.ofPorts)] {
      let text = try String(contentsOfFile: "\(root)/docs/api/\(module).txt", encoding: .utf8)
      let shown = text.split(separator: "\n").filter {
        $0.hasPrefix("RunLoopError.") && $0.hasSuffix(": RunLoopError") && $0.contains("\ttype.property\t")
      }
      XCTAssertEqual(shown.map { $0.prefix { $0 != "\t" } }, known.map { "RunLoopError.\($0.name)" })
    }
  }

  private struct Strange: Error {}

  func test_RLK_C_26_allOthersAreErrorsToo() {
    XCTAssertEqual(Status.of(RunLoopError.system(EBADF)), -EBADF)
    for number: Int32 in [0, -EBADF, .min] { XCTAssertEqual(Status.of(RunLoopError.system(number)), -EIO) }
    let other = RunLoopError.Domain(rawValue: "other")
    for error in [RunLoopError(other, code: 1), RunLoopError(.runLoop, code: -1), RunLoopError(.ports, code: -1)] {
      XCTAssertEqual(Status.of(error), -EIO)
    }
    XCTAssertEqual(Status.of(Strange()), -EIO)
  }
}
