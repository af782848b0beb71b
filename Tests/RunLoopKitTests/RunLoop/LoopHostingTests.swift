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
      let child = test_fork()
      if child == 0 {
        let isTold = hosting.isForked && hosting.prepare() == .isOver && hosting.failure as? RunLoopError == .forked
        _exit(isTold ? 7 : 1)
      }
      var status: Int32 = 0
      check.equal(waitpid(child, &status, 0), child)
      check.equal(status, 7 << 8)
      check.that(loop.isWaiting, "the parent waits on")
      hosting.leave()
    }
  }
}
