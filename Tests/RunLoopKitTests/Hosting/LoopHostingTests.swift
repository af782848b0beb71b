import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What adapters for foreign loops share.
final class LoopHostingTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }
  override func tearDown() { CountingKernel.script = CountingKernel.Script() }

  func test_RLK_HOST_29_aLoopIsServed() {
    onThread {
      let (loop, ran) = (RunLoop.current, Box(0))
      let hosting = try LoopHosting(of: loop)
      XCTAssertEqual(hosting.mode, .default)
      XCTAssertEqual(hosting.prepare(), .mayWait)
      let descriptor = hosting.descriptor.fileDescriptor
      XCTAssertFalse(isReadable(descriptor))
      TestThread { try? loop.perform { ran.value += 1 } }.join()
      XCTAssertTrue(isReadable(descriptor))
      XCTAssertTrue(hosting.serve())
      XCTAssertEqual(ran.value, 1)
      try loop.enqueue { ran.value += 1 }
      XCTAssertEqual(hosting.prepare(), .hasWork)
      XCTAssertTrue(hosting.serve())
      XCTAssertEqual(ran.value, 2)
      hosting.leave()
    }
  }

  /// A host that watches it by an epoll instance of its own has to add it again: whichever call replaces it.
  func test_RLK_HOST_29_theDescriptorIsThatOfTheNewInstance() {
    for isServed in [true, false] {
      onThread {
        let loop = RunLoop.current
        let hosting = try LoopHosting(of: loop)
        let (first, orphan) = (hosting.descriptor, try Orphan(in: loop))
        XCTAssertEqual(hosting.prepare(), .mayWait)
        XCTAssertEqual(hosting.descriptor, first)
        orphan.leave()
        if isServed { hosting.serve() }
        while hosting.prepare() == .hasWork { hosting.serve() }
        XCTAssertEqual(hosting.descriptor.fileDescriptor, first.fileDescriptor)
        XCTAssertEqual(hosting.descriptor.generation, first.generation + 1)
        hosting.leave()
      }
    }
  }

  /// By a callout, or by another thread; not once the host has left, and what it was told by is released then.
  func test_RLK_HOST_29_aStopIsTold() {
    final class Witness {}
    onThread {
      let (loop, stops) = (RunLoop.current, Box(0))
      weak var witness: Witness?
      let hosting = try {
        let own = Witness()
        witness = own
        return try LoopHosting(of: loop) { withExtendedLifetime(own) { stops.value += 1 } }
      }()
      XCTAssertEqual(hosting.prepare(), .mayWait)
      TestThread { loop.stop() }.join()
      XCTAssertTrue(hosting.serve())
      try loop.enqueue { loop.stop() }
      XCTAssertTrue(hosting.serve())
      XCTAssertEqual(stops.value, 2)
      try loop.assumeOnLoop { local in
        try local.enqueue {
          loop.stop()
          hosting.leave()
        }
      }
      XCTAssertFalse(hosting.serve())
      XCTAssertEqual(stops.value, 2)
      XCTAssertNil(witness)
    }
  }

  /// An observer that the host's call notifies.
  func test_RLK_HOST_29_whatIsBusy() {
    onThread {
      let (loop, answers) = (RunLoop.current, Box<[LoopHosting.Preparation]>([]))
      let hosting = try LoopHosting(of: loop)
      try loop.assumeOnLoop { local in
        try local.observer([.beforeWaiting, .afterWaiting]) { _, _ in
          answers.update { $0.append(hosting.prepare()) }
          XCTAssertTrue(hosting.serve())
        }
      }
      XCTAssertEqual(hosting.prepare(), .mayWait)
      XCTAssertTrue(hosting.serve())
      XCTAssertEqual(answers.value, [.isBusy, .isBusy])
      XCTAssertNil(hosting.failure)
      hosting.leave()
    }
  }

  /// Its own waits, on all levels, and nobody else's.
  func test_RLK_HOST_30_aHostEndsItsOwnWaitsOnly() {
    onThread {
      let loop = RunLoop.current
      let (older, host) = (try LoopHosting(of: loop), try LoopHosting(of: loop))
      XCTAssertEqual(older.prepare(), .mayWait)
      XCTAssertEqual(host.prepare(), .mayWait)
      older.leave()
      XCTAssertTrue(loop.isWaiting)
      try loop.cancelWait()
      XCTAssertTrue(loop.isWaiting)
      try loop.assumeOnLoop { local in
        try local.enqueue {
          XCTAssertEqual(host.prepare(), .mayWait)
          host.leave()
          XCTAssertFalse(loop.isWaiting)
          XCTAssertEqual(host.prepare(), .isOver)
          XCTAssertFalse(host.serve())
        }
      }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertNil(loop.currentMode)
      XCTAssertFalse(host.isAttached)
      host.leave()
    }
  }

  /// Its calls have no effect then.
  func test_RLK_HOST_30_aHostThatHasLeftDoesNothingToTheLoop() {
    onThread {
      let (loop, ran) = (RunLoop.current, Box(0))
      let host = try LoopHosting(of: loop)
      host.leave()
      XCTAssertEqual(host.prepare(), .isOver)
      XCTAssertFalse(loop.isWaiting)
      try loop.enqueue { ran.value += 1 }
      XCTAssertFalse(host.serve())
      XCTAssertEqual(ran.value, 0)
    }
  }

  /// In an observer that its own call notifies, before its sleep or after it.
  func test_RLK_HOST_30_aHostThatLeavesWhileItIsBusy() {
    for activity in [RunLoop.Activity.beforeWaiting, .afterWaiting] {
      onThread {
        let (loop, stops) = (RunLoop.current, Box(0))
        try loop.add(RunLoop.Timer.never())
        let hosting = try LoopHosting(of: loop) { stops.value += 1 }
        try loop.assumeOnLoop { local in try local.observer(activity, repeats: false) { _, _ in hosting.leave() } }
        XCTAssertEqual(hosting.prepare(), activity == .beforeWaiting ? .isOver : .mayWait)
        loop.stop()
        XCTAssertFalse(hosting.serve())
        XCTAssertFalse(hosting.isAttached || loop.isWaiting)
        XCTAssertNil(hosting.failure)
        XCTAssertNil(loop.currentMode)
        XCTAssertEqual(stops.value, 0)
      }
    }
  }

  /// A wait that a callout has left open is over, and another host's is not the one's that has left it.
  func test_RLK_HOST_30_aWaitThatWasLeftOpenIsNotTheNextHosts() {
    onThread {
      let loop = RunLoop.current
      let (older, host) = (try LoopHosting(of: loop), try LoopHosting(of: loop))
      try loop.assumeOnLoop { local in try local.enqueue { XCTAssertEqual(older.prepare(), .mayWait) } }
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertFalse(loop.isWaiting)
      XCTAssertEqual(host.prepare(), .mayWait)
      older.leave()
      XCTAssertTrue(loop.isWaiting)
      host.leave()
      XCTAssertFalse(loop.isWaiting)
    }
  }

  /// A host that is gone has told why, once.
  func test_RLK_HOST_31_aFailureEndsIt() {
    onThread {
      let (loop, told) = (RunLoop.current, Box<[String]>([]))
      let other = try LoopHosting(of: loop, in: "other")
      let hosting = try LoopHosting(of: loop, onFailure: { error in told.update { $0.append("\(error)") } })
      XCTAssertEqual(other.prepare(), .mayWait)
      XCTAssertEqual(hosting.prepare(), .isOver)
      XCTAssertEqual(hosting.failure as? RunLoopError, .hostedElsewhere)
      XCTAssertFalse(hosting.isAttached)
      XCTAssertFalse(hosting.serve())
      XCTAssertEqual(told.value.count, 1)
      XCTAssertTrue(told.value.first?.contains("\"other\"") ?? false, "\(told.value)")
      XCTAssertTrue(loop.isWaiting)
      other.leave()
      XCTAssertEqual(thrown { _ = try LoopHosting(of: loop, in: .common) }, .commonModeNotRunnable)
      TestThread { XCTAssertEqual(thrown { _ = try LoopHosting(of: loop) }, .wrongThread) }.join()
    }
  }

  func test_RLK_HOST_31_aChildOfForkIsTold() {
    inChild { check in
      let loop = RunLoop.current
      let hosting = try LoopHosting(of: loop)
      check.that(hosting.prepare() == .mayWait && !hosting.isForked, "the parent")
      // Whichever call the child makes first.
      for isOver: (LoopHosting) -> Bool in [{ $0.prepare() == .isOver }, { !$0.serve() }] {
        let child = test_fork()
        if child == 0 {
          let isTold = hosting.isForked && isOver(hosting) && hosting.failure as? RunLoopError == .forked
          _exit(isTold ? 7 : 1)
        }
        var status: Int32 = 0
        check.equal(waitpid(child, &status, 0), child)
        check.equal(status, 7 << 8)
        check.that(loop.isWaiting, "the parent waits on")
      }
      hosting.leave()
    }
  }

  // MARK: Runs that sleep in the host

  func test_RLK_HOST_32_aRunSleepsInTheHost() {
    onThread {
      let (loop, sleeps, ran) = (RunLoop.current, Box<[Int32]>([]), Box(0))
      try loop.add(RunLoop.Timer.never(), to: "run")
      let hosting = try LoopHosting(of: loop)
      let descriptor = try loop.hostDescriptor(in: "run").fileDescriptor
      hosting.sleep = { polled, until in
        sleeps.update { $0.append(polled) }
        XCTAssertEqual(until, .distantFuture)
        XCTAssertTrue(loop.isWaiting)
        switch sleeps.value.count {
        case 1: break  // it has served something of its own
        case 2: TestThread { try? loop.perform(in: "run") { ran.value += 1 } }.join()
        default: loop.stop()
        }
        if sleeps.value.count > 1 { XCTAssertTrue(isReadable(polled)) }
        return true
      }
      try loop.enqueue { XCTAssertEqual(try? loop.run(in: "run"), .stopped) }
      XCTAssertTrue(hosting.serve())
      XCTAssertEqual(sleeps.value, [descriptor, descriptor, descriptor])
      XCTAssertEqual(ran.value, 1)
      hosting.leave()
      XCTAssertEqual(try loop.run(in: "run", for: .milliseconds(1)), .timedOut)
      XCTAssertEqual(sleeps.value.count, 3)
    }
  }

  /// It sleeps by itself; and a host that sleeps for it is told until when.
  func test_RLK_HOST_32_aHostThatDoesNotSleepForIt() {
    onThread {
      let (loop, asked) = (RunLoop.current, Box(0))
      try loop.add(RunLoop.Timer.never())
      let hosting = try LoopHosting(of: loop)
      hosting.sleep = { _, until in
        asked.value += 1
        XCTAssertGreaterThan(until, .now.advanced(by: .seconds(-30)))
        XCTAssertLessThan(until, .now.advanced(by: .seconds(30)))
        return false
      }
      XCTAssertEqual(try loop.run(for: .milliseconds(1)), .timedOut)
      XCTAssertGreaterThan(asked.value, 0)
      hosting.leave()
    }
  }

  /// Of several hosts that would; and none that has left, or does so no more.
  func test_RLK_HOST_32_theLatestHostIsAsked() {
    onThread {
      let (loop, asked) = (RunLoop.current, Box<[String]>([]))
      try loop.add(RunLoop.Timer.never())
      let (first, second) = (try LoopHosting(of: loop), try LoopHosting(of: loop))
      for (name, hosting) in [("first", first), ("second", second)] {
        hosting.sleep = { _, _ in
          asked.update { $0.append(name) }
          loop.stop()
          return true
        }
      }
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      first.leave()
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      second.sleep = nil
      XCTAssertEqual(try loop.run(for: .milliseconds(1)), .timedOut)
      XCTAssertEqual(asked.value, ["second", "second"])
      second.leave()
    }
  }

  /// A dialogue in that sleep is another level: what comes there is its, and what it leaves is the run's.
  func test_RLK_HOST_32_aDialogueInTheSleepOfARun() {
    for way in 0..<3 {
      onThread {
        let (loop, passes, ran) = (RunLoop.current, Box(0), Box(0))
        try loop.add(RunLoop.Timer.never(), to: "run")
        let hosting = try LoopHosting(of: loop)
        try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 }, to: "run")
        try loop.add(
          RunLoop.Observer(.afterWaiting) { _, _ in XCTAssertEqual(loop.currentMode, "run") }, to: "run")
        var isOpened = false
        hosting.sleep = { _, _ in
          if isOpened {
            XCTAssertEqual(loop.currentMode, "run")
            loop.stop()
            return true
          }
          isOpened = true
          XCTAssertEqual(hosting.prepare(), .mayWait)
          XCTAssertEqual(loop.currentMode, .default)
          TestThread { try? loop.perform { ran.value += 1 } }.join()
          XCTAssertTrue(hosting.serve())
          XCTAssertEqual(ran.value, 1)
          XCTAssertEqual(loop.currentMode, "run")
          XCTAssertEqual(hosting.prepare(), .mayWait)
          if way == 1 { loop.wakeUp() }
          if way == 2 { loop.stop() }
          return true
        }
        XCTAssertEqual(try loop.run(in: "run", for: .seconds(30)), .stopped, "\(way)")
        // A wake is a pass; so is the perform's, which the dialogue has taken.
        XCTAssertEqual(passes.value, way == 2 ? 1 : 2, "\(way)")
        XCTAssertNil(loop.currentMode)
        hosting.leave()
      }
    }
  }
}
