import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What values say of themselves: each part of it has its words.
final class WordsTests: XCTestCase {
  func testSetsNameWhatIsInThem() {
    typealias Readiness = RunLoop.FileDescriptorSource.Readiness
    XCTAssertEqual(
      "\([.readable, .writable, .hangup, .error, .priority] as Readiness)", "readable|writable|hang-up|error|priority")
    XCTAssertEqual("\([] as Readiness)", "nothing")
    typealias Activity = RunLoop.Activity
    XCTAssertEqual(
      "\([.entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit] as Activity)",
      "entry|before-timers|before-sources|before-waiting|after-waiting|exit")
    XCTAssertEqual("\(Activity.all)", "all")
    XCTAssertEqual("\([] as Activity)", "none")
  }

  func testAMessageNamesItsParts() throws {
    let port = Port { _, _ in }
    let pipe = Pipe()
    defer { pipe.closeBoth() }
    let descriptor = try Message.Descriptor(duplicating: pipe.reading)
    var message = Message(id: 7, [.bytes("abc"), .descriptor(descriptor), .right(port.sendRight)])
    XCTAssertEqual("\(message)", "<message 7: 3 bytes, descriptor \(descriptor.fileDescriptor), right>")
    message.reply = port.sendRight
    message.sender = Message.Sender(processID: 3, userID: 4, groupID: 5)
    message.components = [.bytes("abcd")]
    XCTAssertEqual("\(message)", "<message 7: 4 bytes, to be answered, from process 3, user 4, group 5>")
    XCTAssertEqual("\(port.sendRight)", "<send right to a port>")
  }

  /// Of each kind; no other item is said to be in none.
  func test_RLK_TEXT_7_anItemInNoModeSaysSo() {
    onThread {
      let (loop, pipe, counter) = (RunLoop.current, Pipe(), EventCounter())
      defer { pipe.closeBoth() }
      var hooks = RunLoop.Source.Hooks()
      hooks.context = "words"
      let items: [RunLoop.Item] = [
        RunLoop.Source(hooks: hooks) { _ in }, RunLoop.Timer.never(), RunLoop.Observer(.all) { _, _ in },
        try PortSourceFactory.make(counter) {}, Port { _, _ in },
        try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in },
        try RunLoop.FileWatch(path: "/", events: .changes) { _, _ in },
      ]
      for item in items {
        let idle = item.description
        XCTAssertTrue(idle.hasSuffix(", in no mode>"), idle)
        try loop.add(item, to: .common)
        XCTAssertFalse(item.description.contains("in no mode"), item.description)
        XCTAssertFalse(loop.description.contains("in no mode"), loop.description)
        XCTAssertTrue(loop.remove(item, from: .common))
        XCTAssertTrue(item.description.hasSuffix(", in no mode>"), item.description)
        item.invalidate()
        XCTAssertFalse(item.description.contains("in no mode"), item.description)
      }
    }
  }

  func testItemsNameTheirState() throws {
    XCTAssertEqual(
      "\(RunLoop.Observer(.entry, order: 2, repeats: false) { _, _ in })",
      "<observer order 2, entry, once, valid, in no mode>")
    XCTAssertEqual(
      "\(RunLoop.Timer(rearmableOn: .wall) { _ in })",
      "<timer order 0, never, wall clock, rearmable, tolerance 0.0 seconds, in no mode>")
    let source = RunLoop.Source { _ in }
    source.invalidate()
    XCTAssertEqual("\(source)", "<source order 0, invalid>")
    XCTAssertEqual("\(RunLoop.FrameRate(frames: 3, per: .seconds(2)))", "3 frames per 2.0 seconds")
    XCTAssertEqual("\(RunLoop.Instant(nanoseconds: 5))", "5 ns")
    XCTAssertEqual("\(RunLoop.ContinuousInstant(nanoseconds: 6))", "6 ns")
    XCTAssertEqual("\(RunLoop.WallInstant(nanoseconds: 7))", "7 ns")
  }
}
