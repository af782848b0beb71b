import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// A loop inside a plain poll(2) loop.
final class HostingTests: XCTestCase {
  private func isReadable(_ descriptor: Int32, _ milliseconds: Int32 = 0) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) == 1
  }

  func test_RLK_HOST_1_everythingMakesTheDescriptorReadable() {
    onThread {
      let loop = RunLoop.current
      let log = Box<[String]>([])
      let counter = EventCounter()
      let source = RunLoop.Source { _ in log.update { $0.append("source") } }
      try loop.add(source)
      try loop.add(PortSourceFactory.make(counter) { log.update { $0.append("port") } })
      let descriptor = try loop.fileDescriptor()

      XCTAssertFalse(try loop.prepare())
      XCTAssertTrue(loop.isWaiting)
      XCTAssertFalse(self.isReadable(descriptor))
      counter.add()
      XCTAssertTrue(self.isReadable(descriptor))
      try loop.dispatch()

      XCTAssertFalse(try loop.prepare())
      TestThread {
        source.signal()
        loop.wakeUp()
      }.join()
      XCTAssertTrue(self.isReadable(descriptor))
      try loop.dispatch()

      XCTAssertFalse(try loop.prepare())
      TestThread { try? loop.perform { log.update { $0.append("block") } } }.join()
      XCTAssertTrue(self.isReadable(descriptor))
      try loop.dispatch()

      try loop.add(
        RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(1))) { _ in log.update { $0.append("timer") } })
      XCTAssertFalse(try loop.prepare() && log.value.count > 3)
      XCTAssertTrue(self.isReadable(descriptor, 30_000))
      try loop.dispatch()
      XCTAssertEqual(log.value, ["port", "source", "block", "timer"])
    }
  }

  func test_RLK_HOST_2_prepareSaysWhatTheDescriptorCannotShow() {
    onThread {
      let loop = RunLoop.current
      let source = RunLoop.Source { _ in }
      try loop.add(source)
      source.signal()
      XCTAssertTrue(try loop.prepare())
      try loop.dispatch()
      XCTAssertFalse(try loop.prepare())
      try loop.enqueue {}
      XCTAssertTrue(try loop.prepare())
      XCTAssertTrue(try loop.prepare())
      try loop.dispatch()
      XCTAssertFalse(try loop.prepare())
    }
  }

  func test_RLK_HOST_3_stopAndWakeReachAPreparedLoopAndAreNotLostByPreparingAgain() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      let passes = Box(0)
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
      XCTAssertFalse(try loop.prepare())
      loop.stop()
      XCTAssertTrue(try loop.prepare())
      XCTAssertEqual(try loop.dispatch(), .stopped)
      XCTAssertFalse(try loop.prepare())
      loop.wakeUp()
      XCTAssertTrue(try loop.prepare())
      XCTAssertEqual(try loop.dispatch(), .timedOut)
      XCTAssertEqual(passes.value, 2)
    }
  }

  func test_RLK_HOST_4_aSpuriousDispatchMakesNoPass() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      let passes = Box(0)
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
      for _ in 0..<5 {
        _ = try loop.prepare()
        XCTAssertEqual(try loop.dispatch(), .timedOut)
      }
      XCTAssertEqual(passes.value, 0)
    }
  }

  func test_RLK_HOST_5_aRebuildIsCounted() {
    onThread {
      let loop = RunLoop.current
      let watched = test_eventfd(0)
      let kept = dup(watched)
      defer { close(kept) }
      try loop.add(RunLoop.Timer.never())
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: watched, interest: .readable) { _, _ in }
      try loop.add(source)
      XCTAssertFalse(try loop.prepare())
      close(watched)  // before its source has left, and a duplicate stays
      source.invalidate()
      var one: UInt64 = 1
      XCTAssertEqual(write(kept, &one, 8), 8)
      XCTAssertEqual(loop.rebuilds(), 0)
      try loop.dispatch()
      XCTAssertEqual(loop.rebuilds(), 1)
      XCTAssertEqual(loop.rebuilds(of: "another"), 0)
      XCTAssertFalse(self.isReadable(try loop.fileDescriptor()))
    }
  }
}
