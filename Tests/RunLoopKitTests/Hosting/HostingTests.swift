import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// A loop inside a plain poll(2) loop.
final class HostingTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }
  override func tearDown() { CountingKernel.script = CountingKernel.Script() }

  func test_RLK_HOST_1_everythingMakesTheDescriptorReadable() {
    onThread {
      let loop = RunLoop.current
      let log = Box<[String]>([])
      let counter = EventCounter()
      let source = RunLoop.Source { _ in log.update { $0.append("source") } }
      try loop.add(source)
      try loop.add(PortSourceFactory.make(counter) { log.update { $0.append("port") } })
      let descriptor = try loop.hostDescriptor().fileDescriptor

      XCTAssertFalse(try loop.prepareToWait())
      XCTAssertTrue(loop.isWaiting)
      XCTAssertFalse(isReadable(descriptor))
      counter.add()
      XCTAssertTrue(isReadable(descriptor))
      try loop.runPendingWork()

      XCTAssertFalse(try loop.prepareToWait())
      TestThread {
        source.signal()
        loop.wakeUp()
      }.join()
      XCTAssertTrue(isReadable(descriptor))
      try loop.runPendingWork()

      XCTAssertFalse(try loop.prepareToWait())
      TestThread { try? loop.perform { log.update { $0.append("block") } } }.join()
      XCTAssertTrue(isReadable(descriptor))
      try loop.runPendingWork()

      try loop.add(
        RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(1))) { _ in log.update { $0.append("timer") } })
      let isDue = try loop.prepareToWait()  // if this thread has got no processor for a millisecond
      XCTAssertTrue(isDue || isReadable(descriptor, 30_000))
      try loop.runPendingWork()
      XCTAssertEqual(log.value, ["port", "source", "block", "timer"])
    }
  }

  func test_RLK_HOST_2_prepareSaysWhatTheDescriptorCannotShow() {
    onThread {
      let loop = RunLoop.current
      let source = RunLoop.Source { _ in }
      try loop.add(source)
      source.signal()
      XCTAssertTrue(try loop.prepareToWait())
      try loop.runPendingWork()
      XCTAssertFalse(try loop.prepareToWait())
      try loop.enqueue {}
      XCTAssertTrue(try loop.prepareToWait())
      XCTAssertTrue(try loop.prepareToWait())
      try loop.runPendingWork()
      XCTAssertFalse(try loop.prepareToWait())
    }
  }

  func test_RLK_HOST_3_stopAndWakeReachAPreparedLoopAndAreNotLostByPreparingAgain() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      let passes = Box(0)
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
      XCTAssertFalse(try loop.prepareToWait())
      loop.stop()
      XCTAssertTrue(try loop.prepareToWait())
      XCTAssertEqual(try loop.runPendingWork(), .stopped)
      XCTAssertFalse(try loop.prepareToWait())
      loop.wakeUp()
      XCTAssertTrue(try loop.prepareToWait())
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
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
        _ = try loop.prepareToWait()
        XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      }
      XCTAssertEqual(passes.value, 0)
    }
  }

  func test_RLK_HOST_5_aRebuildIsCounted() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      let orphan = try Orphan(in: loop)
      XCTAssertFalse(try loop.prepareToWait())
      orphan.leave()
      XCTAssertEqual(try loop.hostDescriptor().generation, 0)
      try loop.runPendingWork()
      XCTAssertEqual(try loop.hostDescriptor().generation, 1)
      XCTAssertEqual(try loop.hostDescriptor(in: "another").generation, 0)
      XCTAssertFalse(isReadable(try loop.hostDescriptor().fileDescriptor))
    }
  }

  /// What is asked for while `prepareToWait` notifies its observers, by them or by others, comes after they have been called.
  func test_RLK_HOST_7_whatIsAskedForDuringPrepareIsNotLost() {
    func sees(
      _ ask: @escaping @Sendable (RunLoop) -> Void, _ result: RunLoop.RunResult, passes wanted: Int = 1,
      line: UInt = #line
    ) {
      onThread {
        let (loop, asked, passes) = (RunLoop.current, Box(false), Box(0))
        try loop.add(RunLoop.Timer.never())
        try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
        try loop.add(
          RunLoop.Observer(.beforeWaiting, order: .max) { _, _ in
            guard !asked.value else { return }
            asked.value = true
            ask(loop)
          })
        XCTAssertTrue(try loop.prepareToWait(), line: line)
        XCTAssertEqual(try loop.runPendingWork(), result, line: line)
        XCTAssertEqual(passes.value, wanted, line: line)
        XCTAssertFalse(try loop.prepareToWait(), line: line)
        XCTAssertEqual(try loop.runPendingWork(), .timedOut, line: line)
      }
    }
    sees({ $0.wakeUp() }, .timedOut)
    sees({ $0.stop() }, .stopped)
    sees({ loop in TestThread { loop.wakeUp() }.join() }, .timedOut)
    sees({ loop in TestThread { loop.stop() }.join() }, .stopped)
    sees({ try? $0.performWhenIdle {} }, .timedOut)
    // A run of its own takes the wake, which may have been meant for the host.
    sees(
      { loop in
        loop.wakeUp()
        _ = try? loop.run(for: .zero)
      }, .timedOut, passes: 2)
  }

  /// The mark comes when the commit's own observer has been called.
  func test_RLK_HOST_8_aMarkDuringPrepareIsCommitted() {
    onThread {
      let (loop, flushed) = (RunLoop.current, Box(0))
      try loop.add(RunLoop.Timer.never())
      let commit = try RunLoop.Commit(on: loop) { flushed.value += 1 }
      try loop.add(
        RunLoop.Observer(.beforeWaiting, order: .max, repeats: false) { _, _ in
          TestThread { commit.setNeeded() }.join()
        })
      XCTAssertTrue(try loop.prepareToWait())
      try loop.runPendingWork()
      XCTAssertFalse(try loop.prepareToWait())
      XCTAssertEqual(flushed.value, 1)
    }
  }

  /// After `prepareToWait` has found work, and by an observer that `runPendingWork` notifies.
  func test_RLK_HOST_9_aStopUntilTheEndOfAfterWaitingIsAnswered() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      try loop.enqueue {}
      XCTAssertTrue(try loop.prepareToWait())
      TestThread { loop.stop() }.join()
      XCTAssertEqual(try loop.runPendingWork(), .stopped)
      XCTAssertFalse(try loop.prepareToWait())
      try loop.add(RunLoop.Observer(.afterWaiting, repeats: false) { _, _ in loop.stop() })
      XCTAssertEqual(try loop.runPendingWork(), .stopped)
      loop.stop()  // nobody waits
      XCTAssertFalse(try loop.prepareToWait())
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
    }
  }

  func test_RLK_HOST_15_aStopByACalloutOfThePassIsAnswered() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      try loop.enqueue { loop.stop() }
      XCTAssertTrue(try loop.prepareToWait())
      XCTAssertEqual(try loop.runPendingWork(), .stopped)
      try loop.enqueue {}
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)  // it was answered
      try loop.enqueue { TestThread { loop.stop() }.join() }
      XCTAssertEqual(try loop.runPendingWork(), .stopped)
      XCTAssertFalse(try loop.prepareToWait())
    }
  }

  /// The child of a callout is told that it is one, and of no stop.
  func test_RLK_HOST_22_theChildOfACalloutIsToldSo() throws {
    inChild { check in
      let (loop, child) = (RunLoop.current, Box<pid_t>(-1))
      try loop.add(RunLoop.Timer.never())
      try loop.enqueue { child.value = test_fork() }
      do {
        let result = try loop.runPendingWork()
        check.that(child.value > 0 && result == .timedOut, "the parent's pass")
      } catch {
        _exit(child.value == 0 && error as? RunLoopError == .forked ? 7 : 1)
      }
      var status: Int32 = 0
      check.equal(waitpid(child.value, &status, 0), child.value)
      check.equal(status, 7 << 8)
    }
  }

  func test_RLK_HOST_15_theStopOfANestedRunIsNotTheHosts() {
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      try loop.enqueue {
        try? loop.enqueue { loop.stop() }
        XCTAssertEqual(try? loop.run(for: .zero), .timedOut)
      }
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      try loop.enqueue { loop.stop() }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)  // the host's own run
      try loop.enqueue {}
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
    }
  }

  /// The host runs the loop itself between `prepareToWait` and its sleep: what that run has taken shows on the descriptor.
  func test_RLK_HOST_10_aRunOfTheHostsOwnLosesNoWake() {
    onThread {
      let (loop, passes) = (RunLoop.current, Box(0))
      try loop.add(RunLoop.Timer.never())
      let descriptor = try loop.hostDescriptor().fileDescriptor
      XCTAssertFalse(try loop.prepareToWait())
      loop.wakeUp()
      try loop.run(for: .zero)
      XCTAssertTrue(loop.isWaiting || isReadable(descriptor))
      XCTAssertTrue(isReadable(descriptor))
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
      try loop.runPendingWork()
      XCTAssertEqual(passes.value, 1)
      XCTAssertFalse(try loop.prepareToWait())
      try loop.run(for: .zero)
      let log = Box(0)
      TestThread { try? loop.perform { log.value += 1 } }.join()
      XCTAssertTrue(isReadable(descriptor))
      try loop.runPendingWork()
      XCTAssertEqual(log.value, 1)
    }
  }

  func test_RLK_HOST_11_anObserverOfTheHostsTwoIsRefusedThem() {
    onThread {
      let (loop, errors) = (RunLoop.current, Box<[RunLoopError?]>([]))
      try loop.add(RunLoop.Timer.never())
      try loop.add(
        RunLoop.Observer([.beforeWaiting, .afterWaiting]) { _, activity in
          guard activity == .afterWaiting || activity == .beforeWaiting else { return }
          XCTAssertEqual(loop.currentMode, .default)
          errors.update { $0 += [thrown { try loop.prepareToWait() }, thrown { try loop.runPendingWork() }] }
        })
      XCTAssertFalse(try loop.prepareToWait())
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
      let refused: [RunLoopError?] = [.busy, .busy]
      XCTAssertEqual(errors.value, refused + refused)
    }
  }

  /// A source that an observer of before-waiting signals is served before idle work, as in a run.
  func test_RLK_HOST_12_idleWorkWaitsForWhatAnObserverSignals() {
    onThread {
      let (loop, log) = (RunLoop.current, Box<[String]>([]))
      let source = RunLoop.Source { _ in log.update { $0.append("source") } }
      try loop.add(source)
      try loop.add(RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in source.signal() })
      try loop.performWhenIdle { log.update { $0.append("idle") } }
      while try loop.prepareToWait() { try loop.runPendingWork() }
      XCTAssertEqual(log.value, ["source", "idle"])
    }
  }

  /// What comes after `prepareToWait` has announced the sleep makes the descriptor readable, and its own last look takes that away.
  func test_RLK_HOST_13_whatItsLastLookTakesIsTold() {
    func sees(_ ask: @escaping @Sendable (RunLoop) -> Void, _ result: RunLoop.RunResult, line: UInt = #line) {
      onThread {
        let (loop, looks, passes) = (RunLoop.current, Box(0), Box(0))
        try loop.add(RunLoop.Timer.never())
        let descriptor = try loop.hostDescriptor().fileDescriptor
        CountingKernel.script.wait = { _ in
          looks.value += 1
          if looks.value == 2 { ask(loop) }
          return nil
        }
        XCTAssertTrue(try loop.prepareToWait(), line: line)
        CountingKernel.script.wait = nil
        XCTAssertEqual(looks.value, 2, line: line)
        XCTAssertFalse(isReadable(descriptor), line: line)
        try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
        XCTAssertEqual(try loop.runPendingWork(), result, line: line)
        XCTAssertEqual(passes.value, 1, line: line)
        XCTAssertFalse(try loop.prepareToWait(), line: line)
      }
    }
    sees({ $0.wakeUp() }, .timedOut)
    sees({ $0.stop() }, .stopped)
    sees({ loop in TestThread { loop.wakeUp() }.join() }, .timedOut)
  }

  /// The host sleeps for as long as the descriptor says nothing: of what epoll has refused it hears all the same.
  func test_RLK_HOST_14_whatIsRefusedIsTriedAgainWhileTheHostSleeps() {
    CountingKernel.install()
    defer { CountingKernel.script = CountingKernel.Script() }
    onThread {
      let (loop, log, pipe) = (RunLoop.current, Box<[RunLoop.FileDescriptorSource.Readiness]>([]), Pipe())
      let left = Box(0)
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, ready in
        let count = log.update {
          $0.append(ready)
          return $0.count
        }
        guard count == 1 else { return }
        _ = try? loop.run(for: .zero)
        left.value = 4
        CountingKernel.script.control = {
          left.update {
            $0 -= 1
            return $0 >= 0 ? -ENOSPC : nil
          }
        }
      }
      let descriptor = try loop.hostDescriptor().fileDescriptor
      try loop.add(source)
      pipe.send("x")
      var sleeps = 0
      while log.value.count < 3 {
        if try !loop.prepareToWait() {
          sleeps += 1
          var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
          guard poll(&event, 1, 30_000) == 1 else { return XCTFail("the host is told nothing: \(log.value)") }
        }
        try loop.runPendingWork()
      }
      XCTAssertEqual(log.value, [.readable, .error, .readable])
      XCTAssertGreaterThan(sleeps, 0)
      source.invalidate()
      pipe.closeBoth()
    }
  }

  /// Whom the host calls between the two may read; so may a block of the pass, which CFRunLoop does before it looks.
  func test_RLK_HOST_16_whatWasReadSinceTheLookIsNotServed() {
    func serves(_ expected: Int, _ trigger: RunLoop.FileDescriptorSource.Trigger, line: UInt = #line) {
      onThread {
        let (loop, calls, pipe) = (RunLoop.current, Box(0), Pipe())
        let source = try RunLoop.FileDescriptorSource(
          fileDescriptor: pipe.reading, interest: .readable, trigger: trigger
        ) { source, _ in
          calls.value += 1
          _ = pipe.receive()
          if trigger == .oneShot { source.interest = .readable }
        }
        try loop.add(source)
        pipe.send("x")
        XCTAssertTrue(try loop.prepareToWait(), line: line)
        _ = pipe.receive()
        try loop.runPendingWork()
        XCTAssertEqual(calls.value, 0, line: line)
        pipe.send("y")
        try loop.perform { _ = pipe.receive() }
        try loop.runPendingWork()
        XCTAssertEqual(calls.value, 0, line: line)
        for _ in 0..<2 {
          pipe.send("z")
          _ = try loop.prepareToWait()
          try loop.runPendingWork()
        }
        XCTAssertEqual(calls.value, expected, line: line)
        source.invalidate()
        pipe.closeBoth()
      }
    }
    serves(2, .level)
    serves(2, .edge)
    serves(2, .oneShot)
  }

  /// What stays true of an event is served: the end, not what was read.
  func test_RLK_HOST_16_whatIsLeftOfAnEventIsServed() {
    onThread {
      let (loop, pipe, readiness) = (RunLoop.current, Pipe(), Box<[RunLoop.FileDescriptorSource.Readiness]>([]))
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: pipe.reading, interest: .readable, trigger: .edge
      ) { source, ready in readiness.update { $0.append(ready) } }
      try loop.add(source)
      pipe.send("x")
      close(pipe.writing)
      XCTAssertTrue(try loop.prepareToWait())
      _ = pipe.receive()
      try loop.runPendingWork()
      XCTAssertEqual(readiness.value, [.hangup])
      source.invalidate()
      close(pipe.reading)
    }
  }

  /// An event that another mode has served stays served: its one-shot source is armed again where the event was held,
  /// and not where it was called.
  func test_RLK_HOST_16_aOneShotSourceIsArmedAgainInItsModeAlone() {
    onThread {
      let (loop, calls, pipe) = (RunLoop.current, Box(0), Pipe())
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: pipe.reading, interest: .readable, trigger: .oneShot
      ) { _, _ in
        calls.value += 1
        _ = pipe.receive()
      }
      try loop.add(source)
      try loop.add(source, to: "other")
      pipe.send("x")
      XCTAssertTrue(try loop.prepareToWait())
      try loop.cancelWait()
      XCTAssertTrue(try loop.prepareToWait(in: "other"))
      try loop.runPendingWork(in: "other")
      XCTAssertEqual(calls.value, 1)
      try loop.runPendingWork()  // it was read
      pipe.send("y")
      try loop.runPendingWork(in: "other")
      XCTAssertEqual(calls.value, 1)
      try loop.runPendingWork()
      XCTAssertEqual(calls.value, 2)
      source.invalidate()
      pipe.closeBoth()
    }
  }

  /// Nobody would hear of what comes for the other one: it says so.
  func test_RLK_HOST_17_aHostServesOneModeAtATime() {
    onThread {
      let (loop, ids) = (RunLoop.current, Box<[UInt32]>([]))
      let port = Port { _, message in ids.update { $0.append(message.id) } }
      try loop.add(port)
      try loop.add(RunLoop.Timer.never(), to: "other")
      XCTAssertFalse(try loop.prepareToWait())
      for refused in [
        thrown { try loop.prepareToWait(in: "other") }, thrown { try loop.runPendingWork(in: "other") },
      ] {
        XCTAssertEqual(refused, .hostedElsewhere)
        XCTAssertTrue(refused.map { "\($0)".contains("\"other\"") && "\($0)".contains("DefaultMode") } ?? false)
      }
      try loop.cancelWait(in: "other")
      XCTAssertEqual(loop.currentMode, .default)
      let descriptor = try loop.hostDescriptor().fileDescriptor
      TestThread { try! port.sendRight.send(Message(id: 1)) }.join()
      XCTAssertTrue(isReadable(descriptor))
      try loop.runPendingWork()
      XCTAssertEqual(ids.value, [1])
      XCTAssertFalse(try loop.prepareToWait(in: "other"))
      try loop.cancelWait(in: "other")
      XCTAssertNil(loop.currentMode)
    }
  }
}
