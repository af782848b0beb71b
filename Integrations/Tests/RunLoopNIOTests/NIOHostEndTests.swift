import Foundation
import HostTestSupport
import NIOCore
import NIOPosix
import RunLoopKit
import RunLoopNIO
import XCTest

import class RunLoopKit.RunLoop

/// How a host ends, and what it is told.
final class NIOHostEndTests: XCTestCase {
  private let loop = RunLoop.main
  private let log = Log()

  // MARK: Detached

  func test_RLK_NIO_6_detachedInACalloutAndAttachedAgain() throws {
    try turn { [log, loop] eventLoop in
      let host = NIOLoopBound(try NIOHost(of: loop, on: eventLoop), eventLoop: eventLoop)
      try loop.perform {
        host.value.detach()
        log.note("detached")
        XCTAssertFalse(host.value.isAttached)
        var own = 0
        Load.begin(on: eventLoop) {
          own += 1
          if own == 1 { try? loop.perform { log.note("block") } }
          guard own == 5 else { return true }
          XCTAssertEqual(log.value, ["detached"])
          host.value.detach()
          do { try NIOHost(of: loop, on: eventLoop) } catch { XCTFail("\(error)") }
          return false
        }
      }
      log.at(2) { eventLoop.end() }
    }
    XCTAssertEqual(log.value, ["detached", "block"])
  }

  /// The event loop ends, or the host leaves: it has prepared the loop for a sleep.
  func test_RLK_NIO_6_noWaitIsLeftBehind() throws {
    for isDetached in [true, false] {
      try turn { [loop] eventLoop in
        let host = try NIOHost(of: loop, on: eventLoop)
        Load.begin(on: eventLoop) {
          guard loop.isWaiting else { return true }
          if isDetached {
            host.detach()
            XCTAssertFalse(loop.isWaiting)
          }
          eventLoop.end()
          return false
        }
      }
      XCTAssertFalse(loop.isWaiting)
      XCTAssertNil(loop.currentMode)
      loop.stop()
      XCTAssertEqual(try loop.runPendingWork(), .timedOut)
    }
  }

  /// The next host is there for the sleep that follows.
  func test_RLK_NIO_6_anObserverChangesTheHost() throws {
    try turn { [log, loop] eventLoop in
      var host = try NIOHost(of: loop, on: eventLoop)
      try loop.assumeOnLoop { local in
        try local.observer(.beforeWaiting, repeats: false) { _, _ in
          host.detach()
          do { host = try NIOHost(of: loop, on: eventLoop) } catch { XCTFail("\(error)") }
        }
      }
      log.at(1) { eventLoop.end() }
      Thread.detachNewThread {
        while !RunLoop.main.isWaiting { sched_yield() }
        try? RunLoop.main.perform { log.note("block") }
      }
    }
    XCTAssertEqual(log.value, ["block"])
  }

  private final class Witness {}

  /// The event loop holds the host until it is detached, or ends.
  func test_RLK_NIO_6_theEventLoopHoldsTheHost() throws {
    for isDetached in [true, false] {
      weak var witness: Witness?
      weak var host: NIOHost?
      try turn { [loop] eventLoop in
        let own = Witness()
        witness = own
        let attached = try NIOHost(of: loop, on: eventLoop) { withExtendedLifetime(own) {} }
        host = attached
        try loop.assumeOnLoop { local in
          try local.perform {
            XCTAssertNotNil(witness)
            if isDetached { host?.detach() }
            eventLoop.end()
          }
        }
      }
      XCTAssertNil(witness)
      XCTAssertNil(host)
    }
  }

  /// Not for one of many that come and go: other threads open and close some themselves.
  func test_RLK_NIO_6_nothingIsLeftOpen() throws {
    let other = OtherHost()
    defer { other.end() }
    try turn { [loop] eventLoop in
      _ = try loop.hostDescriptor()
      let (before, count) = (openDescriptors(), 40)
      for _ in 0..<count { try NIOHost(of: loop, on: eventLoop).detach() }
      while openDescriptors() >= before + count { sched_yield() }  // the watchers' thread may ring its last
      @Sendable func attach(_ left: Int) {
        do {
          let host = NIOLoopBound(try NIOHost(of: loop, on: eventLoop), eventLoop: eventLoop)
          try loop.perform {
            host.value.detach()
            let observers = "\(loop)".components(separatedBy: "<observer \"NIOHost\"").count - 1
            XCTAssertEqual(observers, 0)
            eventLoop.execute {
              if left > 0 { return attach(left - 1) }
              while openDescriptors() >= before + count { sched_yield() }
              eventLoop.end()
            }
          }
        } catch { XCTFail("\(error)") }
      }
      attach(count)
    }
  }

  /// One for all hosts; it takes none of the program's signals.
  func test_RLK_NIO_11_theThreadOfTheHosts() throws {
    while watchersThreads().count > 0 { sched_yield() }  // of tests before this one
    try turn { [loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      let other = OtherHost()
      defer { other.end() }
      let threads = watchersThreads()
      XCTAssertEqual(threads.count, 1)
      var (own, wanted) = (sigset_t(), sigset_t())
      pthread_sigmask(SIG_SETMASK, nil, &own)
      sigemptyset(&wanted)
      XCTAssertEqual(memcmp(&own, &wanted, 128), 0, "signals are blocked on the thread of the host")
      let mask = try XCTUnwrap(threads.first?.split(separator: "\n").first { $0.hasPrefix("SigBlk:") })
      let blocked = try XCTUnwrap(UInt64(mask.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16))
      for signal in [SIGINT, SIGTERM, SIGCHLD, SIGUSR1] { XCTAssertNotEqual(blocked & 1 << UInt64(signal - 1), 0) }
      eventLoop.end()
    }
    while watchersThreads().count > 0 { sched_yield() }
  }

  /// The event loop does not serve the loop, and work waits: that thread sleeps.
  func test_RLK_NIO_11_itRingsAndSleeps() throws {
    try turn { [loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      Thread.detachNewThread {
        while !RunLoop.main.isWaiting { sched_yield() }
        eventLoop.execute {
          let before = sleepsOfTheWatchersThread()
          onOtherThread { try? RunLoop.main.perform { eventLoop.end() } }
          while sleepsOfTheWatchersThread() == before { sched_yield() }
        }
      }
    }
  }

  // MARK: Stops

  func test_RLK_NIO_8_aStopIsTold() throws {
    try turn { [log, loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop) {
        log.note("stop")
        eventLoop.end()
      }
      Thread.detachNewThread {
        while !RunLoop.main.isWaiting { sched_yield() }
        RunLoop.main.stop()
      }
    }
    XCTAssertEqual(log.value, ["stop"])
  }

  func test_RLK_NIO_8_aStopByACalloutIsTold() throws {
    try turn { [log, loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop) {
        log.note("stop")
        eventLoop.end()
      }
      try loop.perform { [loop] in loop.stop() }
    }
    XCTAssertEqual(log.value, ["stop"])
  }

  /// Also one by itself: the loop is prepared then.
  func test_RLK_NIO_8_aStopByItselfIsTold() throws {
    try turn { [log, loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop) {
        log.note("stop")
        if log.value.count == 3 { eventLoop.end() } else { loop.stop() }
      }
      try loop.perform { [loop] in loop.stop() }
    }
    XCTAssertEqual(log.value, ["stop", "stop", "stop"])
  }

  /// As what a callout asks for.
  func test_RLK_NIO_8_whatItAsksForIsServed() throws {
    try turn { [loop] eventLoop in
      let source = RunLoop.Source { source in
        source.invalidate()
        eventLoop.end()
      }
      try loop.add(source)
      try NIOHost(of: loop, on: eventLoop) { source.signal() }
      try loop.perform { [loop] in loop.stop() }
    }
  }

  /// Who has detached the host in the same callout hears nothing.
  func test_RLK_NIO_8_noStopAfterTheHost() throws {
    try turn { [log, loop] eventLoop in
      let host = NIOLoopBound(try NIOHost(of: loop, on: eventLoop) { log.note("stop") }, eventLoop: eventLoop)
      try loop.perform { [loop] in
        loop.stop()
        host.value.detach()
        eventLoop.end()
      }
    }
    XCTAssertEqual(log.value, [])
  }
}

/// What /proc says of them.
private func watchersThreads() -> [String] {
  let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
  return tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/status", encoding: .utf8) }
    .filter { $0.hasPrefix("Name:\tRunLoopNIO\n") }
}

private func sleepsOfTheWatchersThread() -> Substring? {
  watchersThreads().first?.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
}
