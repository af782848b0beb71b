import CRefusedCalls
import Foundation
import HostTestSupport
import NIOCore
import NIOEmbedded
import NIOPosix
import RunLoopKit
import RunLoopNIO
import XCTest

import class RunLoopKit.RunLoop

/// What is refused, and a child of fork(2).
final class NIOHostRefusalTests: XCTestCase {
  private let loop = RunLoop.main
  private let log = Log()

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
    let other = OtherHost()
    defer { other.end() }
    for refusal in refusals {
      let error = Box<(any Error)?>(nil)
      let descriptors = Box((before: 0, after: 0))
      onOtherThread {
        try? turn { eventLoop in
          do {
            _ = try RunLoop.current.hostDescriptor()
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
    let told = try whatIsToldOnStandardError {
      try turn { [loop, log] eventLoop in
        _ = try loop.hostDescriptor()
        eventLoop.execute { eventLoop.end() }
        Load.begin(on: eventLoop) {
          true
        } atEnd: {
          let (before, count) = (openDescriptors(), 40)
          for _ in 0..<count {
            do { try NIOHost(of: loop, on: eventLoop) } catch { log.note("\(type(of: error))") }
          }
          while openDescriptors() >= before + count { sched_yield() }  // the watchers' thread ends
        }
      }
    }
    XCTAssertEqual(log.value, Array(repeating: "EventLoopError", count: 40))
    XCTAssertEqual(told, "")
  }

  /// Later the host says so, and is gone: other code closes the loop's epoll instance, and there is no descriptor for
  /// another one.
  func test_RLK_NIO_7_aLoopThatFails() throws {
    var usual = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &usual)
    let few = rlimit(rlim_cur: 3, rlim_max: usual.rlim_max)  // standard input, output and error
    defer { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &usual) }
    let outcome = Box<(failure: RunLoopError?, isAttached: Bool)?>(nil)
    let told = try whatIsToldOnStandardError {
      onOtherThread {
        try? turn { eventLoop in
          let loop = RunLoop.current
          let host = NIOLoopBound(try NIOHost(of: loop, on: eventLoop), eventLoop: eventLoop)
          try loop.perform {
            withUnsafePointer(to: few) { _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), $0) }
            close((try? loop.hostDescriptor().fileDescriptor) ?? -1)
            eventLoop.execute {
              outcome.value = (host.value.failure as? RunLoopError, host.value.isAttached)
              eventLoop.end()
            }
          }
        }
      }
    }
    let (failure, isAttached) = try XCTUnwrap(outcome.value)
    XCTAssertEqual(failure?.errno, EBADF)
    XCTAssertFalse(isAttached)
    XCTAssertTrue(told.hasPrefix("RunLoopNIO: the run loop leaves its event loop: "), told)
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

  /// A child has no thread of its parent's, and makes its own.
  func test_RLK_NIO_7_aChildHasAThreadOfItsOwn() throws {
    try turn { [loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      let child = forkProcess()
      if child == 0 {
        alarm(20)
        onOtherThread {
          try? turn { eventLoop in
            try NIOHost(of: .current, on: eventLoop)
            let loop = RunLoop.current
            _ = OtherThread {
              while !loop.isWaiting { sched_yield() }
              try? loop.perform { _exit(7) }
            }
          }
        }
        _exit(1)
      }
      var status: Int32 = 0
      XCTAssertEqual(waitpid(child, &status, 0), child)
      XCTAssertEqual(status, 7 << 8)
      eventLoop.end()
    }
  }
}
