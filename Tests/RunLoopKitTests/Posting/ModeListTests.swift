import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Modes that are known at run time, for each call that takes modes.
final class ModeListTests: XCTestCase {
  func test_RLK_PERFORM_6_aBlockRunsOnceInTheFirstModeOfTheListThatRuns() {
    onThread {
      let (loop, log) = (RunLoop.current, Box<[String]>([]))
      @Sendable func note(_ text: String) { log.update { $0.append(text) } }
      for modes in [["first", "second"], ["second"], []] as [[RunLoop.Mode]] {
        log.value = []
        try loop.perform(in: modes) { note("perform") }
        try loop.perform(in: modes, block: { note("block") }, onDrop: { note("dropped") })
        try loop.enqueue(in: modes) { note("enqueue") }
        try loop.performAsSource(in: modes) { note("source") }
        try loop.perform(after: .zero, in: modes) { note("after") }
        try loop.assumeOnLoop { local in
          try local.perform(in: modes) { note("local perform") }
          try local.enqueue(in: modes) { note("local enqueue") }
        }
        for mode in ["other", modes.isEmpty ? "second" : .default] as [RunLoop.Mode] {
          XCTAssertEqual(try loop.run(in: mode, for: .seconds(100)), .finished)
        }
        XCTAssertEqual(log.value, [])
        for mode in [modes.last ?? .default, "first", "second", .default] {
          XCTAssertEqual(try loop.run(in: mode, for: .seconds(100)), .finished)
        }
        XCTAssertEqual(
          log.value, ["perform", "block", "enqueue", "source", "local perform", "local enqueue", "after"])
      }
    }
  }

  func test_RLK_PERFORM_6_aThreadWaitsForABlockInOneOfTheList() throws {
    let thread = RunLoop.Thread(name: "list")
    try thread.start()
    let loop = thread.loop!
    for modes in [["never", .default], []] as [[RunLoop.Mode]] {
      XCTAssertEqual(try loop.performAndWait(in: modes) { modes.count }, modes.count)
      try loop.barrier(in: modes)
    }
    let modes: [RunLoop.Mode] = ["never", "nor this one"]
    XCTAssertEqual(thrown { try loop.performAndWait(in: modes, timeout: .zero) {} }, .timedOut)
    XCTAssertEqual(thrown { try loop.barrier(in: modes, timeout: .zero) }, .timedOut)
    thread.stop()
    try thread.join()
  }

  func test_RLK_PERFORM_6_aTaskWaitsForABlockInOneOfTheList() async throws {
    let thread = RunLoop.Thread(name: "list")
    try await thread.start()
    let loop = thread.loop!
    for modes in [["never", .default], []] as [[RunLoop.Mode]] {
      let answer = try await loop.performAndWait(in: modes) { loop.isCurrent ? modes.count : -1 }
      XCTAssertEqual(answer, modes.count)
    }
    let modes: [RunLoop.Mode] = ["never", "nor this one"]
    do {
      try await loop.performAndWait(in: modes, timeout: .zero) {}
      XCTFail("it was not withdrawn")
    } catch {
      XCTAssertEqual(error as? RunLoopError, .timedOut)
    }
    thread.stop()
    try await thread.join()
  }
}
