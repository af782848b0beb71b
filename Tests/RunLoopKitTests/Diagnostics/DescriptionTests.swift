import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class DescriptionTests: XCTestCase {
  func test_RLK_TEXT_1_theDescriptionShowsWhatTheLoopHolds() {
    onThread {
      let loop = RunLoop.current
      let counter = EventCounter()
      var hooks = RunLoop.Source.Hooks()
      hooks.context = "a user's words"
      let source = RunLoop.Source(order: 7, hooks: hooks) { _ in }
      try loop.add(source, to: .common)
      source.signal()
      try loop.add(PortSourceFactory.make(counter) {})
      try loop.add(RunLoop.Observer([.entry, .beforeWaiting], order: -3) { _, _ in }, to: "mine")
      try loop.add(
        RunLoop.Timer(fireDate: .now.advanced(by: .seconds(100)), interval: .seconds(4), tolerance: .seconds(1)) { _ in
        })
      let text = loop.description
      for part in [
        "wakeup port: descriptor", "stopped: no", "ignoring wakeups: yes", "waiting: no", "current mode: none",
        "common modes: kCFRunLoopDefaultMode", "common items: 1", "mode kCFRunLoopDefaultMode (common)", "mode mine",
        "port set: descriptor", "timer port: descriptor", "<source order 7, valid, signalled, context a user's words>",
        "<port source order 0, descriptor \(counter.descriptor), valid>", "<observer order -3, entry|before-waiting",
        "<timer order 0, next in", "interval 4.0 seconds, tolerance 1.0 seconds", "soft deadline:",
        "hard deadline: never",
      ] { XCTAssertTrue(text.contains(part), "\(part) is missing in\n\(text)") }
    }
  }

  /// Test cases of XCTest run on the main thread.
  func test_RLK_TEXT_1_theMainLoopAndWhatAChildOfForkInherits() throws {
    let loop = RunLoop.main
    let lines = loop.description.split(separator: "\n")
    XCTAssertEqual(lines.first, "RunLoop { main")
    let keepers = lines.filter { $0.hasPrefix("    kept by: ") }
    XCTAssertTrue(keepers.contains { $0.hasSuffix("the main queue") }, "\(keepers)")
    let child = test_fork()
    if child == 0 { _exit(loop.description == "<RunLoop of the parent process>" ? 0 : 1) }
    var status: Int32 = -1
    XCTAssertEqual(waitpid(child, &status, 0), child)
    XCTAssertEqual(status, 0)
  }

  func test_RLK_TEXT_3_labelsAreShown() throws {
    let (pipe, counter) = (Pipe(), EventCounter())
    defer { pipe.closeBoth() }
    let items: [(RunLoop.Item, String)] = [
      (RunLoop.Source { _ in }, "<source \"a label\" order 0"),
      (RunLoop.Source(order: 4) { _ in }, "<source \"a label\" order 4"),
      (RunLoop.Timer.never(), "<timer \"a label\" order 0, never"),
      (RunLoop.Observer(.all) { _, _ in }, "<observer \"a label\" order 0"),
      (try PortSourceFactory.make(counter) {}, "<port source \"a label\" order 0"),
      (
        try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in },
        "<descriptor source \"a label\" order 0"
      ),
      (try RunLoop.FileWatch(path: "/", events: .changes) { _, _ in }, "<file watch \"a label\" order 0"),
    ]
    onThread {
      let loop = RunLoop.current
      for (item, text) in items {
        XCTAssertNil(item.label)
        item.label = nil
        let before = item.description
        item.label = "a label"
        XCTAssertEqual(item.label, "a label")
        XCTAssertTrue(item.description.hasPrefix(text), item.description)
        try loop.add(item)
        XCTAssertTrue(loop.description.contains(text), loop.description)
        item.label = "another"
        XCTAssertTrue(loop.description.contains("\"another\" order"))
        item.label = nil
        if !(item is RunLoop.Timer) { XCTAssertEqual(item.description, before.replacing(", in no mode", with: "")) }
        item.invalidate()
      }
    }
  }

  func test_RLK_TEXT_4_labelsAreSetByManyThreads() {
    let item = RunLoop.Source { _ in }
    let threads = (0..<4).map { number in
      TestThread {
        for round in 0..<500 {
          item.label = "\(number) \(round)"
          XCTAssertNotNil(item.label)
          XCTAssertTrue(item.description.hasPrefix("<source \""))
        }
      }
    }
    for thread in threads { thread.join() }
    XCTAssertEqual(item.label?.hasSuffix(" 499"), true)
  }

  func test_RLK_TEXT_2_aLoopDescribesItselfInItsCallouts() {
    onThread {
      let loop = RunLoop.current
      let text = Box("")
      let source = RunLoop.Source { _ in text.value = loop.description }
      try loop.add(source)
      source.signal()
      try loop.run(for: .zero)
      XCTAssertTrue(text.value.contains("current mode: kCFRunLoopDefaultMode"))
    }
  }
}
