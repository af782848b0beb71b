import CRefusedCalls
import Foundation
import NIOCore
import NIOEmbedded
import NIOPosix
import RunLoopKit
import RunLoopNIO
import XCTest

import class RunLoopKit.RunLoop

/// How a host ends, what it is told, and what is refused.
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

  /// Before and after SwiftNIO has made its channel.
  func test_RLK_NIO_6_nothingIsLeftOpen() throws {
    try turn { [loop] eventLoop in
      try NIOHost(of: loop, in: .tracking, on: eventLoop)  // so that the watchers' thread stays
      _ = try loop.hostDescriptor()
      let before = openDescriptors()
      for _ in 0..<5 { try NIOHost(of: loop, on: eventLoop).detach() }
      let host = NIOLoopBound(try NIOHost(of: loop, on: eventLoop), eventLoop: eventLoop)
      try loop.perform {
        host.value.detach()
        eventLoop.execute {
          while openDescriptors() != before { sched_yield() }  // the watchers' thread may ring its last
          eventLoop.end()
        }
      }
    }
  }

  /// One for all hosts; it takes none of the program's signals.
  func test_RLK_NIO_11_theThreadOfTheHosts() throws {
    while watchersThreads().count > 0 { sched_yield() }  // of tests before this one
    try turn { [loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      try NIOHost(of: loop, in: .tracking, on: eventLoop)
      let threads = watchersThreads()
      XCTAssertEqual(threads.count, 1)
      let mask = try XCTUnwrap(threads.first?.split(separator: "\n").first { $0.hasPrefix("SigBlk:") })
      let blocked = try XCTUnwrap(UInt64(mask.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16))
      for signal in [SIGINT, SIGTERM, SIGCHLD, SIGUSR1] { XCTAssertNotEqual(blocked & 1 << UInt64(signal - 1), 0) }
      eventLoop.end()
    }
    while watchersThreads().count > 0 { sched_yield() }
  }

  // MARK: Refused

  func test_RLK_NIO_7_whatIsRefused() throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let eventLoop = group.next()
    XCTAssertThrowsError(try NIOHost(of: loop, on: eventLoop)) { XCTAssertEqual($0 as? RunLoopError, .wrongThread) }
    let other = try eventLoop.submit { [loop] in
      Result { _ = try NIOHost(of: loop, on: eventLoop) }.mapError { $0 as! RunLoopError }
    }.wait()
    XCTAssertThrowsError(try other.get()) { XCTAssertEqual($0 as? RunLoopError, .wrongThread) }
    let common = try eventLoop.submit {
      Result { _ = try NIOHost(of: .current, in: .common, on: eventLoop) }.mapError { $0 as! RunLoopError }
    }.wait()
    XCTAssertThrowsError(try common.get()) { XCTAssertEqual($0 as? RunLoopError, .commonModeNotRunnable) }
    XCTAssertThrowsError(try NIOHost(of: loop, on: EmbeddedEventLoop())) {
      XCTAssertEqual($0 as? EventLoopError, .unsupportedOperation)
    }
    try group.syncShutdownGracefully()
  }

  /// A sandbox, and a system that has nothing left: the error says what to do, and nothing is lost.
  func test_RLK_NIO_7_aKernelThatRefuses() throws {
    let refusals: [(call: Int, operation: Int32, number: Int32, name: String, remedy: String)] = [
      (call_eventfd, -1, EMFILE, "eventfd", "RLIMIT_NOFILE"),
      (call_epoll_ctl, Int32(epoll_add), ENOSPC, "epoll_ctl", "max_user_watches"),
      (call_fcntl, F_DUPFD_CLOEXEC, EMFILE, "fcntl", "RLIMIT_NOFILE"),
    ]
    for refusal in refusals {
      let error = Box<(any Error)?>(nil)
      let descriptors = Box((before: 0, after: 0))
      onOtherThread {
        try? turn { eventLoop in
          do {
            _ = try RunLoop.current.hostDescriptor()
            try NIOHost(of: .current, in: .tracking, on: eventLoop)  // so that the watchers' thread is there
            descriptors.value.before = openDescriptors()
            XCTAssertEqual(refuse_call(Int32(refusal.call), refusal.operation, refusal.number), 0)
            defer { descriptors.value.after = openDescriptors() }
            try NIOHost(of: .current, on: eventLoop)
          } catch let thrown { error.value = thrown }
          eventLoop.end()
        }
      }
      let thrown = try XCTUnwrap(error.value as? RunLoopError, refusal.name)
      XCTAssertEqual(thrown.errno, refusal.number)
      XCTAssertTrue("\(thrown)".contains(refusal.name), "\(thrown)")
      XCTAssertTrue("\(thrown)".contains(refusal.remedy), "\(thrown)")
      XCTAssertEqual(descriptors.value.before, descriptors.value.after)
    }
  }

  /// SwiftNIO refuses: an event loop that is about to end takes no channels.
  func test_RLK_NIO_7_anEventLoopThatEnds() throws {
    let host = Box<NIOHost?>(nil)
    let descriptors = Box((before: 0, after: 0))
    let told = try whatIsToldOnStandardError {
      try turn { [loop] eventLoop in
        _ = try loop.hostDescriptor()
        try NIOHost(of: loop, in: .tracking, on: eventLoop)  // so that the watchers' thread is there
        eventLoop.execute { eventLoop.end() }
        Load.begin(on: eventLoop) {
          true
        } atEnd: {
          descriptors.value.before = openDescriptors()
          do { host.value = try NIOHost(of: loop, on: eventLoop) } catch { XCTFail("\(error)") }
          descriptors.value.after = openDescriptors()
        }
      }
    }
    XCTAssertNotNil(host.value?.failure)
    XCTAssertEqual(host.value?.isAttached, false)
    XCTAssertTrue(told.hasPrefix("RunLoopNIO: the run loop leaves its event loop: "), told)
    XCTAssertEqual(descriptors.value.before, descriptors.value.after)
  }

  // MARK: A child of fork(2)

  /// What the event loop sleeps on is the parent's, too: a child that took the loop out would take it from its parent.
  func test_RLK_NIO_7_aChildDetachesAndTheParentGoesOn() throws {
    try turn { [log, loop] eventLoop in
      let host = try NIOHost(of: loop, on: eventLoop)
      log.at(1) { eventLoop.end() }
      Load.begin(on: eventLoop) {
        guard loop.isWaiting else { return true }
        let child = forkProcess()
        if child == 0 {
          alarm(20)
          host.detach()
          _exit(host.isAttached ? 1 : 7)
        }
        var status: Int32 = 0
        XCTAssertEqual(waitpid(child, &status, 0), child)
        XCTAssertEqual(status, 7 << 8)
        Thread.detachNewThread { try? RunLoop.main.perform { log.note("block") } }
        return false
      }
    }
    XCTAssertEqual(log.value, ["block"])
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

private func openDescriptors() -> Int {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1
}

/// What /proc says of them.
private func watchersThreads() -> [String] {
  let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
  return tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/status", encoding: .utf8) }
    .filter { $0.hasPrefix("Name:\tRunLoopNIO\n") }
}

/// Swift calls fork(2) unavailable, which a program with one of these tests must.
private func forkProcess() -> pid_t {
  typealias Fork = @convention(c) () -> pid_t
  return unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)()
}
