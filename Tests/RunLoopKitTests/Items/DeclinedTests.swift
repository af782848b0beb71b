import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What does the work of features that are declined: docs/decisions/0017-what-is-not-built.md.
final class DeclinedTests: XCTestCase {
  /// An alarm clock is a port source; here, without the capability, the clock that it counts on.
  func test_RLK_DECLINED_1_anAlarmClockIsAPortSource() throws {
    let clock = test_boot_timer(1_000_000)
    XCTAssertGreaterThanOrEqual(clock, 0)
    defer { close(clock) }
    let source = try RunLoop.PortSource(fileDescriptor: clock) { _ in RunLoop.current.stop() }
    onThread {
      try RunLoop.current.add(source)
      XCTAssertEqual(try RunLoop.current.run(for: .seconds(30)), .stopped)
      source.invalidate()
    }
  }

  /// What a barrier of Android lets pass is in a mode of its own.
  func test_RLK_DECLINED_2_aModeHoldsTheOthersBack() {
    onThread {
      let (loop, log) = (RunLoop.current, Box<[String]>([]))
      try loop.perform { log.update { $0.append("ordinary") } }
      try loop.perform(in: "urgent") { log.update { $0.append("urgent") } }
      try loop.run(in: "urgent", for: .zero)
      XCTAssertEqual(log.value, ["urgent"])
      try loop.run(for: .zero)
      XCTAssertEqual(log.value, ["urgent", "ordinary"])
    }
  }

  /// The set-up runs on the thread, and may give it a place and a priority.
  func test_RLK_DECLINED_3_aThreadsPlaceIsItsSetUps() throws {
    let process = __priority_which_t(PRIO_PROCESS.rawValue)
    let own = getpriority(process, 0)
    let wanted = min(own + 3, 19)
    let thread = RunLoop.Thread(name: "placed") { _ in
      guard test_stay_on_this_processor() == 0, setpriority(process, 0, wanted) == 0 else {
        throw RunLoopError.system(errno, call: "setpriority")
      }
    }
    try thread.start()
    XCTAssertEqual(try thread.loop!.performAndWait { getpriority(process, 0) }, wanted)
    thread.stop()
    try thread.join()
    XCTAssertEqual(getpriority(process, 0), own)
  }
}
