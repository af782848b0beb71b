import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Other code closes the loop's own epoll descriptor or eventfd, or puts another file there: at each moment.
final class OwnDescriptorTests: XCTestCase {
  private enum Moment: CaseIterable {
    case beforeTheFirstRun, betweenRuns, inACallout, inANestedRun, inAnotherMode, inAHost
  }

  /// What is said on standard error meanwhile, by lines.
  private func lines(_ body: () throws -> Void) rethrows -> [Substring] {
    let (pipe, saved) = (Pipe(), dup(STDERR_FILENO))
    dup2(pipe.writing, STDERR_FILENO)
    defer { pipe.closeBoth() }
    do {
      defer {
        dup2(saved, STDERR_FILENO)
        close(saved)
      }
      try body()
    }
    return pipe.receive().split(separator: "\n")
  }

  private static func lose(_ number: Int32, to file: Int32?) {
    if let file { dup2(file, number) } else { close(number) }
  }

  private func lose(_ number: Int32, to file: Int32?, at moment: Moment, on loop: RunLoop) throws {
    let loses: @Sendable () -> Void = { Self.lose(number, to: file) }
    let losesAndRuns: @Sendable () -> Void = {
      Self.lose(number, to: file)
      _ = try? loop.run(for: .milliseconds(1))
    }
    switch moment {
    case .beforeTheFirstRun: Self.lose(number, to: file)
    case .betweenRuns:
      try loop.run(for: .zero)
      Self.lose(number, to: file)
    case .inACallout:
      try loop.perform(block: loses)
      try loop.run(for: .zero)
    case .inANestedRun:
      try loop.perform(block: losesAndRuns)
      try loop.run(for: .zero)
    case .inAnotherMode:
      try loop.add(RunLoop.Timer.never(), to: "another")
      try loop.perform(in: "another", block: loses)
      try loop.run(in: "another", for: .zero)
    case .inAHost:
      while try loop.prepareToWait() { try loop.runPendingWork() }
      Self.lose(number, to: file)
      while try loop.prepareToWait() { try loop.runPendingWork() }
      try loop.cancelWait()
    }
  }

  /// A ready descriptor, a timer, and a sleep that another thread ends, in two modes.
  private func checkItWorks(_ loop: RunLoop, _ counter: EventCounter, _ moment: Moment) throws {
    for mode in [RunLoop.Mode.default, "another"] {
      counter.add()
      XCTAssertEqual(try loop.run(in: mode, for: .seconds(30)), .stopped, "descriptor, \(mode), \(moment)")
      try loop.add(RunLoop.Timer(after: .milliseconds(1)) { _ in loop.stop() }, to: mode)
      XCTAssertEqual(try loop.run(in: mode, for: .seconds(30)), .stopped, "timer, \(mode), \(moment)")
      let waker = TestThread {
        yieldUntil(loop.isWaiting)
        loop.stop()
      }
      XCTAssertEqual(try loop.run(in: mode, for: .seconds(30)), .stopped, "wake, \(mode), \(moment)")
      waker.join()
    }
  }

  private func tryAll(_ files: [Int32?], _ number: @escaping (RunLoop) throws -> Int32, _ name: String) {
    for moment in Moment.allCases {
      for file in files {
        onThread {
          let (loop, counter) = (RunLoop.current, EventCounter())
          for mode in [RunLoop.Mode.default, "another"] {
            try loop.add(PortSourceFactory.make(counter) { loop.stop() }, to: mode)
          }
          let own = try number(loop)
          let said = try self.lines {
            try self.lose(own, to: file, at: moment, on: loop)
            try self.checkItWorks(loop, counter, moment)
            try self.checkItWorks(loop, counter, moment)
          }
          XCTAssertEqual(said.count, 1, "\(moment): \(said)")
          XCTAssertTrue(said.first?.contains(name) ?? false, "\(moment): \(said)")
          if file != nil { close(own) }
        }
      }
    }
  }

  func test_RLK_RUN_14_aLostEpollDescriptorIsReplaced() {
    let counter = EventCounter()
    tryAll([nil, counter.descriptor], { try $0.hostDescriptor().fileDescriptor }, "epoll descriptor")
    var count: UInt64 = 0
    XCTAssertEqual(read(counter.descriptor, &count, 8), -1, "other code's file was written to")
  }

  func test_RLK_WAKE_2_aLostEventfdIsReplaced() {
    let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
    tryAll([nil, nothing], { try XCTUnwrap(WakeFailureTests.wakeupDescriptor(of: $0)) }, "eventfd")
    close(nothing)
  }

  /// A host compares the descriptor after each `runPendingWork`, which it is asked for.
  func test_RLK_RUN_14_aHostLearnsOfTheNewOne() {
    onThread {
      let (loop, counter) = (RunLoop.current, EventCounter())
      try loop.add(PortSourceFactory.make(counter) {})
      while try loop.prepareToWait() { try loop.runPendingWork() }
      let before = try loop.hostDescriptor()
      let said = try self.lines {
        close(before.fileDescriptor)
        XCTAssertTrue(try loop.prepareToWait())
        try loop.runPendingWork()
      }
      XCTAssertEqual(said.count, 1)
      let after = try loop.hostDescriptor()
      XCTAssertNotEqual(after, before)
      XCTAssertEqual(after.fileDescriptor, before.fileDescriptor)  // the number was free
      while try loop.prepareToWait() { try loop.runPendingWork() }
      TestThread { loop.wakeUp() }.join()
      var entry = pollfd(fd: after.fileDescriptor, events: Int16(POLLIN), revents: 0)
      XCTAssertEqual(poll(&entry, 1, 0), 1)
    }
  }

  /// The program's own file has the number by now: it is watched, and not written to.
  func test_RLK_WAKE_2_aNumberThatIsTheProgramsByNow() {
    onThread {
      let (loop, counter) = (RunLoop.current, EventCounter())
      try loop.add(RunLoop.Timer.never())
      try loop.run(for: .zero)
      let number = try XCTUnwrap(WakeFailureTests.wakeupDescriptor(of: loop))
      dup2(counter.descriptor, number)
      let said = try self.lines {
        let source = try RunLoop.FileDescriptorSource(fileDescriptor: number, interest: .readable) { _, _ in
          counter.drain()
          loop.stop()
        }
        try loop.add(source)
        let waker = TestThread {
          yieldUntil(loop.isWaiting)
          loop.stop()
        }
        XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
        waker.join()
        var count: UInt64 = 0
        XCTAssertEqual(read(counter.descriptor, &count, 8), -1)
        counter.add()
        XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
        source.invalidate()
      }
      XCTAssertEqual(said.count, 1, "\(said)")
      close(number)
    }
  }
}
