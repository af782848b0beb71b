import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// A loop inside another one, whose host does what it need not do.
final class HostCaseTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  /// Whatever it was, it shows on the descriptor, and no more once it has been dispatched. In a process with one thread:
  /// signals are among it.
  func test_RLK_HOST_33_readableForEachKindAndNotAfterItsDispatch() throws {
    guard test_may_have_threads_after_fork() == 1 else { try skipCase("no thread may be made after fork here") }
    inChild { check in
      try RunLoop.Signal.block(.user1)
      let (loop, log, counter) = (RunLoop.current, Box<[String]>([]), EventCounter())
      let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in log.update { $0.append("timer") } }
      let wall = RunLoop.Timer(rearmableOn: .wall) { _ in log.update { $0.append("wall") } }
      let source = RunLoop.Source { _ in log.update { $0.append("source") } }
      let signal = try RunLoop.SignalSource(.user1) { _, _ in log.update { $0.append("signal") } }
      let port = try PortSourceFactory.make(counter) { log.update { $0.append("port") } }
      for item in [timer, wall, source, signal, port] as [RunLoop.Item] { try loop.add(item) }
      let descriptor = try loop.hostDescriptor().fileDescriptor
      let kinds: [(String, () -> Void)] = [
        ("timer", { timer.rearm(after: .milliseconds(1)) }), ("wall", { wall.rearm(after: .milliseconds(1)) }),
        ("port", { counter.add() }), ("signal", { kill(getpid(), SIGUSR1) }),
        ("block", { TestThread { try? loop.perform { log.update { $0.append("block") } } }.join() }),
        (
          "source",
          {
            TestThread {
              source.signal()
              loop.wakeUp()
            }.join()
          }
        ),
      ]
      for (name, cause) in kinds {
        while try loop.prepareToWait() { try loop.runPendingWork() }
        check.that(!isReadable(descriptor), name)
        cause()
        check.that(isReadable(descriptor, 30_000), name)
        try loop.runPendingWork()
        check.equal(log.value, [name])
        log.value = []
        while try loop.prepareToWait() { try loop.runPendingWork() }
        check.that(!isReadable(descriptor), "after \(name)")
      }
      check.equal(log.value, [])
    }
  }

  /// Twice prepared, dispatched unasked, prepared inside an observer of the host's call: a word, or nothing.
  func test_RLK_HOST_34_callsOutOfTurn() {
    onThread {
      let (loop, errors) = (RunLoop.current, Box<[RunLoopError?]>([]))
      try loop.add(RunLoop.Timer.never())
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      XCTAssertFalse(try loop.prepareToWait())
      XCTAssertFalse(try loop.prepareToWait())
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      try loop.add(
        RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in
          errors.update {
            $0 = [thrown { _ = try loop.prepareToWait() }, thrown { _ = try loop.runPendingWork() }]
          }
        })
      XCTAssertFalse(try loop.prepareToWait())
      try loop.runPendingWork()
      XCTAssertEqual(errors.value, [.busy, .busy])
      TestThread {
        XCTAssertEqual(thrown { _ = try loop.prepareToWait() }, .wrongThread)
      }.join()
    }
  }

  /// A run inside a dispatch's callout; a host's own poll inside a callout; and a plain run of a loop that a host has
  /// prepared.
  func test_RLK_HOST_35_hostAndLoopInsideEachOther() {
    onThread {
      let (loop, log, counter) = (RunLoop.current, Box<[String]>([]), EventCounter())
      @Sendable func note(_ text: String) { log.update { $0.append(text) } }
      try loop.add(RunLoop.Timer.never())
      try loop.add(PortSourceFactory.make(counter) { note("port") })
      let descriptor = try loop.hostDescriptor().fileDescriptor
      XCTAssertFalse(try loop.prepareToWait())
      counter.add()
      let outer = RunLoop.Source { _ in
        note("outer")
        XCTAssertEqual(try? loop.run(for: .zero, returnAfterSourceHandled: true), .handledSource)
        note("inner is over")
      }
      try loop.add(outer)
      outer.signal()
      try loop.runPendingWork()
      XCTAssertEqual(log.value, ["outer", "port", "inner is over"])
      // Prepared, and then run by somebody who knows nothing of the host.
      log.value = []
      while try loop.prepareToWait() { try loop.runPendingWork() }
      counter.add()
      XCTAssertEqual(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(log.value, ["port"])
      XCTAssertFalse(try loop.prepareToWait())
      XCTAssertFalse(isReadable(descriptor))
      counter.add()
      XCTAssertTrue(isReadable(descriptor, 30_000))
      try loop.runPendingWork()
      XCTAssertEqual(log.value, ["port", "port"])
    }
  }

  /// The host sleeps on the descriptor while another thread edits the loop.
  func test_RLK_HOST_36_anotherThreadsEditsWakeTheHost() {
    onThread {
      let (loop, log, counter) = (RunLoop.current, Box<[String]>([]), EventCounter())
      let timer = RunLoop.Timer(rearmable: .now.advanced(by: .seconds(3600))) { _ in log.update { $0.append("timer") } }
      try loop.add(timer)
      let descriptor = try loop.hostDescriptor().fileDescriptor
      let edits: [(String, @Sendable () throws -> Void)] = [
        ("timer", { timer.fireDate = .now }),
        (
          "port",
          {
            try loop.add(PortSourceFactory.make(counter) { log.update { $0.append("port") } })
            counter.add()
          }
        ),
        (
          "another",
          {
            try loop.add(RunLoop.Timer(fireDate: .now) { _ in log.update { $0.append("another") } })
          }
        ),
        ("block", { try loop.perform { log.update { $0.append("block") } } }),
      ]
      for (name, edit) in edits {
        while try loop.prepareToWait() { try loop.runPendingWork() }
        let other = TestThread { do { try edit() } catch { XCTFail("\(error)") } }
        while log.value.isEmpty {
          if try !loop.prepareToWait() { XCTAssertTrue(isReadable(descriptor, 30_000), name) }
          try loop.runPendingWork()
        }
        other.join()
        XCTAssertEqual(log.value, [name])
        log.value = []
      }
    }
  }

  /// A host that never dispatches: one write, whatever is asked for; memory only for what is queued, and for that it goes.
  func test_RLK_HOST_37_aHostThatNeverDispatches() {
    onThread {
      let loop = RunLoop.current
      let timer = RunLoop.Timer(fireDate: .distantFuture, interval: .microseconds(10)) { _ in }
      try loop.add(timer)
      let descriptor = try loop.hostDescriptor().fileDescriptor
      // Not due yet, also if this thread got no processor for that long.
      repeat { timer.fireDate = .now.advanced(by: .milliseconds(20)) } while try loop.prepareToWait()
      let counts = CountingKernel.count {
        XCTAssertTrue(isReadable(descriptor, 30_000))  // for the timer, which nobody re-arms
        TestThread { for _ in 0..<10_000 { loop.wakeUp() } }.join()
        XCTAssertTrue(isReadable(descriptor))
      }
      XCTAssertEqual(counts, CountingKernel.Counts(writes: 1))
      let run = Box(0)
      for _ in 0..<1000 { try loop.perform { run.value += 1 } }
      XCTAssertEqual(run.value, 0)
      try loop.runPendingWork()
      XCTAssertEqual(run.value, 1000)
    }
  }
}
