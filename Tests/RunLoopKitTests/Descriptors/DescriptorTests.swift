import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class DescriptorTests: XCTestCase {
  func test_RLK_PORT_1_oneCalloutAMessage() {
    onThread {
      let loop = RunLoop.current
      let (calls, pipe) = (Box(0), Pipe())
      defer { pipe.closeBoth() }
      try loop.add(RunLoop.PortSource(fileDescriptor: pipe.reading) { _ in calls.value += 1 })
      pipe.send("12345678")
      pipe.send("12345678")
      pipe.send("12")
      for expected in 1...3 {
        XCTAssertEqual(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(calls.value, expected)
      }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(calls.value, 3)
      close(pipe.writing)
      XCTAssertEqual(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      for _ in 0..<5 { try loop.run(for: .zero) }
      XCTAssertEqual(calls.value, 4)
    }
  }

  func test_RLK_PORT_2_aSemaphoreCountsDown() {
    onThread {
      let loop = RunLoop.current
      let (calls, counter) = (Box(0), EventCounter(isSemaphore: true))
      try loop.add(PortSourceFactory.make(counter) { calls.value += 1 })
      counter.add(3)
      for _ in 0..<6 { try loop.run(for: .zero) }
      XCTAssertEqual(calls.value, 3)
    }
  }

  func test_RLK_PORT_3_portsAreServedInTheOrderOfReadiness() {
    onThread {
      let loop = RunLoop.current
      let (log, a, b, c) = (Box<[String]>([]), EventCounter(), EventCounter(), EventCounter())
      let first = try PortSourceFactory.make(a) {
        log.update { $0.append("a") }
        if log.value.count < 3 {
          c.add()
          b.add()
          a.add()
        }
      }
      try loop.add(first)
      try loop.add(PortSourceFactory.make(b) { log.update { $0.append("b") } })
      try loop.add(PortSourceFactory.make(c) { log.update { $0.append("c") } })
      a.add()
      for _ in 0..<4 { try loop.run(for: .zero) }
      XCTAssertEqual(log.value, ["a", "c", "b", "a"])
    }
  }

  func test_RLK_PORT_4_aDescriptorThatBlocksIsNotReadTwiceForOneEvent() {
    onThread {
      let loop = RunLoop.current
      let (first, second, calls) = (EventCounter(), EventCounter(), Box<[String]>([]))
      for counter in [first, second] {
        _ = fcntl(counter.descriptor, F_SETFL, fcntl(counter.descriptor, F_GETFL) & ~O_NONBLOCK)
      }
      // The outer run has fetched both events; the nested one takes the second.
      let nested = try PortSourceFactory.make(second) { calls.update { $0.append("second") } }
      let outer = try PortSourceFactory.make(first) {
        calls.update { $0.append("first") }
        _ = try? loop.run(in: "nested", for: .zero)
      }
      try loop.add(outer)
      try loop.add(nested)
      try loop.add(nested, to: "nested")
      first.add()
      second.add()
      for _ in 0..<3 { try loop.run(for: .zero) }
      XCTAssertEqual(calls.value, ["first", "second"])
    }
  }

  func test_RLK_FD_1_readinessIsLevelTriggeredAndSleepsOtherwise() {
    onThread {
      let loop = RunLoop.current
      let (text, calls, pipe) = (Box(""), Box(0), Pipe())
      defer { pipe.closeBoth() }
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, readiness in
        XCTAssertEqual(readiness, .readable)
        calls.value += 1
        if calls.value == 3 { text.value = pipe.receive() }
      }
      try loop.add(source)
      pipe.send("hello")
      for _ in 0..<6 { try loop.run(for: .zero) }
      XCTAssertEqual(calls.value, 3)
      XCTAssertEqual(text.value, "hello")
    }
  }

  func test_RLK_FD_2_afterAHangUpItIsCalledOnceAndRests() {
    onThread {
      let loop = RunLoop.current
      let (seen, pipe) = (Box<[RunLoop.FileDescriptorSource.Readiness]>([]), Pipe())
      defer { close(pipe.reading) }
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, readiness in
        seen.update { $0.append(readiness) }
      }
      try loop.add(source)
      close(pipe.writing)
      for _ in 0..<5 { try loop.run(for: .zero) }
      XCTAssertEqual(seen.value.count, 1)
      XCTAssertTrue(seen.value.first?.contains(.hangup) ?? false)
      source.interest = .readable
      for _ in 0..<5 { try loop.run(for: .zero) }
      XCTAssertEqual(seen.value.count, 2)
    }
  }

  func test_RLK_FD_3_aNestedRunLeavesTheServedSourceOut() {
    onThread {
      let loop = RunLoop.current
      let (calls, depth, pipe) = (Box(0), Box(0), Pipe())
      defer { pipe.closeBoth() }
      try loop.add(RunLoop.Timer.never())
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in
        calls.value += 1
        depth.value += 1
        XCTAssertEqual(depth.value, 1)
        for _ in 0..<3 { _ = try? loop.run(for: .zero) }
        depth.value -= 1
      }
      try loop.add(source)
      pipe.send("x")
      XCTAssertEqual(try loop.run(for: .zero, returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(calls.value, 1)
      XCTAssertEqual(try loop.run(for: .zero, returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(calls.value, 2)
    }
  }

  /// In each mode that the callout runs, as long as it lasts; then it is heard again in all of them.
  func test_RLK_FD_3_nestedRunsOfOtherModesLeaveItOutMeanwhile() {
    onThread {
      let (loop, modes) = (RunLoop.current, [.default, "second", "third"] as [RunLoop.Mode])
      @Sendable func poll(_ mode: RunLoop.Mode) throws -> RunLoop.RunResult {
        try loop.run(in: mode, for: .zero, returnAfterSourceHandled: true)
      }
      for outer in modes {
        let (calls, inside, pipe) = (Box<[RunLoop.Mode?]>([]), Box<[RunLoop.RunResult?]>([]), Pipe())
        let source = try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in
          calls.update { $0.append(loop.currentMode) }
          if calls.value.count == 1 { inside.value = modes.map { try? poll($0) } }
        }
        for mode in modes { try loop.add(source, to: mode) }
        pipe.send("x")
        XCTAssertEqual(try poll(outer), .handledSource)
        XCTAssertEqual(inside.value, [.timedOut, .timedOut, .timedOut])
        XCTAssertEqual(try modes.map(poll), [.handledSource, .handledSource, .handledSource])
        XCTAssertEqual(calls.value.compactMap { $0 }, [outer] + modes)
        source.invalidate()
        pipe.closeBoth()
      }
    }
  }

  func test_RLK_FD_4_interestChangesReachASleepingLoop() {
    let (loop, asleep, pipe) = (Box<RunLoop?>(nil), Gate(), Pipe())
    defer { pipe.closeBoth() }
    let source = try! RunLoop.FileDescriptorSource(fileDescriptor: pipe.writing, interest: []) { source, readiness in
      XCTAssertEqual(readiness, .writable)
      loop.value?.stop()
    }
    let thread = TestThread {
      loop.value = RunLoop.current
      _ = try? RunLoop.current.add(source)
      _ = try? RunLoop.current.add(RunLoop.Observer(.beforeWaiting) { _, _ in asleep.open() })
      XCTAssertEqual(try? RunLoop.current.run(for: .seconds(60)), .stopped)
    }
    asleep.wait()
    source.interest = .writable
    thread.join()
  }

  func test_RLK_FD_5_aReusedNumberIsANewPort() {
    onThread {
      let loop = RunLoop.current
      let (old, new) = (Box(0), Box(0))
      let first = Pipe()
      let stale = try RunLoop.FileDescriptorSource(fileDescriptor: first.reading, interest: .readable) { _, _ in
        old.value += 1
      }
      try loop.add(stale)
      try loop.add(RunLoop.Timer.never())
      first.send("old")
      first.closeBoth()
      let second = Pipe()
      defer { second.closeBoth() }
      XCTAssertEqual(first.reading, second.reading)
      let live = try RunLoop.FileDescriptorSource(fileDescriptor: second.reading, interest: .readable) { _, _ in
        new.value += 1
      }
      try loop.add(live)
      loop.remove(stale)
      second.send("new")
      try loop.run(for: .zero)
      XCTAssertEqual(old.value, 0)
      XCTAssertEqual(new.value, 1)
    }
  }
}
