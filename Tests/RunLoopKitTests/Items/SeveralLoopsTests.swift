import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// One item in two modes of each of three loops, all of which hear of what becomes of it.
final class SeveralLoopsTests: XCTestCase {
  private static let modes: [RunLoop.Mode] = ["one", "other"]

  private func withLoops(_ body: ([RunLoop]) throws -> Void) throws {
    let threads = (0..<3).map { RunLoop.Thread(name: "loop \($0)") }
    for thread in threads { try thread.start() }
    try body(threads.compactMap(\.loop))
    for thread in threads {
      thread.stop()
      try thread.join()
    }
  }

  private func add(_ item: RunLoop.Item, to loops: [RunLoop]) throws {
    for loop in loops { for mode in Self.modes { XCTAssertTrue(try loop.add(item, to: mode)) } }
  }

  /// The names of the modes, in each loop, of which this is true.
  private func places(_ loops: [RunLoop], _ isWanted: (RunLoop, RunLoop.Mode) throws -> Bool) rethrows -> [String] {
    try loops.map { loop in try Self.modes.filter { try isWanted(loop, $0) }.map(\.rawValue).joined(separator: " ") }
  }

  private static let everywhere = ["one other", "one other", "one other"]
  private static let nowhere = ["", "", ""]

  func test_RLK_KEEP_2_inEachModeOfEachLoop() throws {
    try withLoops { loops in
      let source = RunLoop.Source { _ in }
      try add(source, to: loops)
      for keepsRunning in [false, true, false] {
        source.keepsRunning = keepsRunning
        XCTAssertEqual(
          places(loops) { loop, mode in !loop.isEmpty(in: mode) }, keepsRunning ? Self.everywhere : Self.nowhere)
      }
      source.invalidate()
    }
  }

  /// Each mode that it leaves is told, whichever call has ended it.
  func testAnInvalidSourceLeavesEachModeOfEachLoop() throws {
    let ends: [(RunLoop.Source) throws -> Void] = [
      { $0.invalidate() }, { try $0.invalidateAndWait() }, { $0.invalidate(finally: {}) },
    ]
    try withLoops { loops in
      for end in ends {
        let (cancelled, numbers) = (Box<[String]>([]), loops.map(ObjectIdentifier.init))
        var hooks = RunLoop.Source.Hooks()
        hooks.cancel = { loop, mode in
          let number = numbers.firstIndex(of: ObjectIdentifier(loop)) ?? -1
          cancelled.update { $0.append("\(number) \(mode.rawValue)") }
        }
        let source = RunLoop.Source(hooks: hooks) { _ in }
        try add(source, to: loops)
        try end(source)
        XCTAssertEqual(places(loops) { loop, mode in loop.contains(source, in: mode) }, Self.nowhere)
        XCTAssertEqual(places(loops) { loop, mode in !loop.isEmpty(in: mode) }, Self.nowhere)
        XCTAssertEqual(cancelled.value.sorted(), ["0 one", "0 other", "1 one", "1 other", "2 one", "2 other"])
      }
    }
  }

  func test_RLK_FD_4_anInterestIsThatOfEachModeOfEachLoop() throws {
    for trigger in [RunLoop.FileDescriptorSource.Trigger.level, .oneShot] {
      try withLoops { loops in
        let pipe = Pipe()
        let source = try RunLoop.FileDescriptorSource(
          fileDescriptor: pipe.writing, interest: [], trigger: trigger
        ) { _, _ in }
        try add(source, to: loops)
        for interest in [[], .writable, []] as [RunLoop.FileDescriptorSource.Readiness] {
          source.interest = interest
          let called = try places(loops) { loop, mode in
            try loop.performAndWait {
              try loop.run(in: mode, for: .zero, returnAfterSourceHandled: true) == .handledSource
            }
          }
          XCTAssertEqual(called, interest == .writable ? Self.everywhere : Self.nowhere)
        }
        source.invalidate()
        pipe.closeBoth()
      }
    }
  }
}
