import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class DescriptionTests: XCTestCase {
  func test_RLK_TEXT_1_theDescriptionShowsWhatTheLoopHolds() {
    onThread {
      let loop = RunLoop.current
      let counter = EventCounter()
      var context = RunLoop.Context()
      context.description = { _ in "a user's words" }
      let source = RunLoop.Source(order: 7, context: context) { _ in }
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
