import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What a removal with an answer ends besides the callouts, and whose callout it is that runs.
final class RemovalEndTests: XCTestCase {
  /// The three ways to invalidate.
  private static let ways: [@Sendable (RunLoop.Item) throws -> Void] = [
    { $0.invalidate() }, { try $0.invalidateAndWait() }, { $0.invalidate(finally: {}) },
  ]
  private static let deadlock = RunLoopError.wouldDeadlock

  func test_RLK_REMOVE_9_anOwnedDescriptorIsClosedByEveryForm() throws {
    for way in Self.ways {
      let pipe = Pipe()
      defer { close(pipe.reading) }
      let item = try RunLoop.FileDescriptorSource(
        fileDescriptor: pipe.writing, interest: [], ownership: .closesWhenInvalidated
      ) { _, _ in }
      onThread {
        try RunLoop.current.add(item)
        try way(item)
        var byte: UInt8 = 0
        XCTAssertEqual(read(pipe.reading, &byte, 1), 0)  // the end, since its other end is closed; -1: nothing yet
      }
      withExtendedLifetime(item) {}
    }
  }

  func test_RLK_REMOVE_10_aRestingSourceLeavesNoTimerWithAnyForm() throws {
    for way in Self.ways {
      onThread {
        let (loop, counter, calls) = (RunLoop.current, EventCounter(), Box(0))
        let item = try RunLoop.FileDescriptorSource(
          fileDescriptor: counter.descriptor, interest: .readable,
          limit: RunLoop.RateLimit(count: 1, per: .seconds(3600))
        ) { _, _ in calls.value += 1 }
        counter.add()
        try loop.add(item)
        for _ in 0..<3 { try loop.run(for: .zero) }
        XCTAssertEqual(calls.value, 1)
        try way(item)
        XCTAssertTrue(loop.isEmpty(in: .default))
        withExtendedLifetime(item) {}
      }
    }
  }

  func test_RLK_REMOVE_11_aSignalIsGivenBackByEveryForm() {
    inChild { check in
      for way in Self.ways {
        let source = try RunLoop.SignalSource(.user1) { _, _ in }
        try RunLoop.current.add(source)
        check.that(Self.isBlocked(.user1))
        try way(source)
        check.that(!Self.isBlocked(.user1), "the signal stays blocked")
        withExtendedLifetime(source) {}
      }
    }
  }

  private static func isBlocked(_ signal: RunLoop.Signal) -> Bool {
    var mask = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &mask)
    return sigismember(&mask, signal.rawValue) == 1
  }

  /// A turn goes to the source that comes first, which need not be the one whose descriptor was ready.
  func test_RLK_REMOVE_12_theCalloutIsThatOfTheSignalSourceThatIsCalled() {
    for order in [1, -1] {
      inChild { check in
        let loop = RunLoop.current
        let (refusals, others) = (Box<[RunLoopError?]>([]), Box<[RunLoop.SignalSource]>([]))
        let sources = try [0, order].map { order in
          try RunLoop.SignalSource(.user1, order: order) { source, _ in
            refusals.update { $0.append(thrown { try source.invalidateAndWait() }) }
            check.that(source.isValid)
          }
        }
        others.value = sources
        for source in sources { try loop.add(source) }
        _ = kill(getpid(), SIGUSR1)
        for _ in 0..<4 { try loop.run(for: .zero) }
        check.equal(refusals.value, [Self.deadlock, Self.deadlock])
        others.value = []
      }
    }
  }

  /// A rest ends in a timer's callout; what is told of it is a callout of the source.
  func test_RLK_REMOVE_13_whoIsToldOfTheEndOfARestIsInACallout() {
    onThread {
      let (loop, counter, refusals) = (RunLoop.current, EventCounter(), Box<[RunLoopError?]>([]))
      let limit = RunLoop.RateLimit(count: 1, per: .milliseconds(1)) { item in
        refusals.update { $0.append(thrown { try item.invalidateAndWait() }) }
        item.invalidate()
      }
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: counter.descriptor, interest: .readable, limit: limit
      ) { _, _ in counter.drain() }
      counter.add()
      try loop.add(source)
      XCTAssertEqual(try loop.run(for: .seconds(60)), .finished)
      XCTAssertEqual(refusals.value, [Self.deadlock])
    }
  }

  func test_RLK_REMOVE_14_theChildOfAForkingCalloutMakesNoLastCall() {
    onThread {
      let (loop, child, last) = (RunLoop.current, Box<pid_t>(-1), Box(0))
      let source = RunLoop.Source { source in
        source.invalidate(finally: { last.value += 1 })
        child.value = test_fork()
      }
      try loop.add(source)
      source.signal()
      _ = try? loop.run(for: .zero)
      if child.value == 0 { _exit(last.value == 0 ? 0 : 1) }
      var status: Int32 = 0
      while waitpid(child.value, &status, 0) < 0 {}
      XCTAssertEqual(status, 0)
      XCTAssertEqual(last.value, 1)
    }
  }

  /// `prepareToWait` notifies without a run: the observer's callout is on record all the same, also after it was refused another one.
  func test_RLK_REMOVE_15_aPreparedLoopInAnObserverKeepsItsCallout() {
    onThread {
      let (loop, refusals, depth) = (RunLoop.current, Box<[RunLoopError?]>([]), Box(0))
      let observer = RunLoop.Observer(.beforeWaiting) { observer, _ in
        depth.value += 1
        refusals.update { $0.append(thrown { try loop.prepareToWait() }) }
        refusals.update { $0.append(thrown { try observer.invalidateAndWait() }) }
      }
      try loop.add(RunLoop.Timer.never())
      try loop.add(observer)
      try loop.add(RunLoop.Observer(.beforeWaiting, order: 1) { _, _ in depth.value += 10 })
      _ = try loop.prepareToWait()
      XCTAssertEqual(refusals.value, [.busy, Self.deadlock])
      XCTAssertEqual(depth.value, 11)
      XCTAssertNil(thrown { try observer.invalidateAndWait() })
    }
  }
}
