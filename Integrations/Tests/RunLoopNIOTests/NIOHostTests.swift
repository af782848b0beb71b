import Dispatch
import Foundation
import Glibc
import HostTestSupport
import NIOCore
import NIOPosix
import RunLoopKit
import RunLoopNIO
import XCTest

import class RunLoopKit.RunLoop

/// RunLoop.main in an event loop on the main thread. Test cases of XCTest run on the main thread.
final class NIOHostTests: XCTestCase {
  private let loop = RunLoop.main
  private let log = Log()

  // MARK: What is served

  func test_RLK_NIO_1_everythingOfTheLoopIsServed() throws {
    let pipe = Pipe()
    let reading = pipe.fileHandleForReading.fileDescriptor
    let source = RunLoop.Source { [log] _ in log.note("source") }
    let causes: [(String, () throws -> Void)] = [
      ("block", { [log, loop] in try loop.perform { log.note("block") } }),
      ("timer", { [log, loop] in try loop.add(RunLoop.Timer(after: .milliseconds(1)) { _ in log.note("timer") }) }),
      (
        "source",
        { [loop] in
          source.signal()
          loop.wakeUp()
        }
      ),
      ("descriptor", { pipe.fileHandleForWriting.write(Data([1])) }),
    ]
    try turn { [log, loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      try loop.add(source)
      let descriptor = try RunLoop.FileDescriptorSource(fileDescriptor: reading, interest: .readable) { source, _ in
        log.note("descriptor")
        source.invalidate()
      }
      try loop.add(descriptor)
      let left = NIOLoopBound(Box(causes[...]), eventLoop: eventLoop)
      // Caused by code of the thread, outside of the loop's callouts.
      @Sendable func next() {
        eventLoop.execute {
          guard let (name, cause) = left.value.update({ $0.popFirst() }) else { return eventLoop.end() }
          let count = log.value.count
          log.at(count + 1) {
            XCTAssertEqual(log.value.last, name)
            next()
          }
          do { try cause() } catch { XCTFail("\(error)") }
        }
      }
      next()
    }
    XCTAssertEqual(log.value, causes.map(\.0))
    source.invalidate()
  }

  func test_RLK_NIO_1_theMainQueueAndTheMainActorAreServed() throws {
    try turn { [log, loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      log.at(5) { eventLoop.end() }
      DispatchQueue.main.async { log.note("queue") }
      Task { @MainActor in
        log.note("actor")
        await Task.detached { log.note("pool") }.value
        log.note("actor again")
        eventLoop.execute { log.note("event loop") }
      }
    }
    XCTAssertEqual(log.value, ["queue", "actor", "pool", "actor again", "event loop"])
  }

  /// A loop of each thread of a group.
  func test_RLK_NIO_1_threadsOfAGroup() throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    for eventLoop in group.makeIterator() {
      let loop = try eventLoop.submit {
        try NIOHost(of: .current, on: eventLoop)
        return RunLoop.current
      }.wait()
      let isOnEventLoop = eventLoop.makePromise(of: Bool.self)
      try loop.perform { isOnEventLoop.succeed(eventLoop.inEventLoop) }
      XCTAssertTrue(try isOnEventLoop.futureResult.wait())
    }
    try group.syncShutdownGracefully()
  }

  /// While the event loop sleeps, and just before: nothing else ends the sleep.
  func test_RLK_NIO_2_noHopOfAnotherThreadIsLost() throws {
    let count = 2000
    let served = Box(0)
    try turn { [loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      @Sendable func serve() {
        served.update { $0 += 1 }
        if served.value == count { eventLoop.end() }
      }
      Thread.detachNewThread {
        for number in 1...count {
          if number.isMultiple(of: 2) {
            DispatchQueue.main.async { serve() }
          } else {
            try? RunLoop.main.perform { serve() }
          }
          while number.isMultiple(of: 3), served.value < number { sched_yield() }
        }
      }
    }
    XCTAssertEqual(served.value, count)
  }

  func test_RLK_NIO_2_aTimerOfAnotherThreadEndsTheSleep() throws {
    let timer = RunLoop.Timer(rearmable: .distantFuture) { [log] _ in log.note("timer") }
    try loop.add(timer)
    try turn { [log, loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      log.at(1) { eventLoop.end() }
      Thread.detachNewThread {
        while !RunLoop.main.isWaiting { sched_yield() }
        timer.rearm(after: .milliseconds(1))
      }
    }
    XCTAssertEqual(log.value, ["timer"])
    timer.invalidate()
  }

  // MARK: Quiet

  /// Of some times one in which nothing of before is left to do: the only tick is the one that ends it.
  func test_RLK_NIO_3_idleWithoutATickOrAPass() throws {
    let ticks = Ticks()
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1, metricsDelegate: ticks)
    let eventLoop = group.next()
    let loop = try eventLoop.submit { () -> RunLoop in
      try NIOHost(of: .current, on: eventLoop)
      RunLoop.current.collectsStatistics = true
      return .current
    }.wait()
    let isServed = eventLoop.makePromise(of: Void.self)
    try loop.perform { isServed.succeed() }
    try isServed.futureResult.wait()
    let least = eventLoop.makePromise(of: (ticks: Int, passes: Int).self)
    @Sendable func measure(_ times: Int, _ soFar: (ticks: Int, passes: Int)) {
      let before = (ticks: ticks.value, passes: loop.statistics.passes)
      eventLoop.scheduleTask(in: .milliseconds(20)) {
        let now = (ticks: ticks.value - before.ticks, passes: loop.statistics.passes - before.passes)
        let found = now < soFar ? now : soFar
        if times == 1 { least.succeed(found) } else { measure(times - 1, found) }
      }
    }
    eventLoop.execute { measure(5, (.max, .max)) }
    let (tickCount, passes) = try least.futureResult.wait()
    XCTAssertEqual(tickCount, 1)
    XCTAssertEqual(passes, 0)
    try group.syncShutdownGracefully()
  }

  // MARK: Neither side starves the other

  func test_RLK_NIO_4_endlessWorkOfTheLoopLetsTheEventLoopRun() throws {
    let hops = Box(0)
    var hopsBeside = 0
    try turn { [loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      @Sendable func hop() {
        hops.update { $0 += 1 }
        if hops.value < 1_000_000 { try? RunLoop.main.perform { hop() } }
      }
      try loop.perform { hop() }
      var own = 0
      Load.begin(on: eventLoop) {
        own += 1
        guard own == 20 else { return true }
        hopsBeside = hops.value
        eventLoop.end()
        return false
      }
    }
    XCTAssertLessThanOrEqual(hopsBeside, 41)
    hops.value = 1_000_000
    try loop.run(for: .zero)
  }

  func test_RLK_NIO_4_endlessWorkOfTheEventLoopLetsTheLoopRun() throws {
    let hops = Box(0)
    var own = 0
    try turn { [loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      @Sendable func hop() {
        hops.update { $0 += 1 }
        if hops.value < 20 { try? RunLoop.main.perform { hop() } } else { eventLoop.end() }
      }
      try loop.perform { hop() }
      Load.begin(on: eventLoop) {
        own += 1
        return hops.value < 20
      }
    }
    XCTAssertLessThanOrEqual(own, 41)
  }

  // MARK: Nesting

  func test_RLK_NIO_5_theLoopInATaskOfTheEventLoop() throws {
    try turn { [log, loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      log.at(3) { eventLoop.end() }
      // Not before the loop sleeps.
      try loop.perform {
        eventLoop.execute {
          onOtherThread { DispatchQueue.main.async { log.note("queue") } }
          XCTAssertEqual(try? loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
          log.note("over")
          Thread.detachNewThread {
            while !RunLoop.main.isWaiting { sched_yield() }
            try? RunLoop.main.perform { log.note("block") }
          }
        }
      }
    }
    XCTAssertEqual(log.value, ["queue", "over", "block"])
  }

  /// An event loop that begins in a callout of the loop serves the loop there.
  func test_RLK_NIO_12_anEventLoopInACallout() throws {
    try loop.assumeOnLoop { [log, loop] local in
      try local.perform {
        do {
          try turn { eventLoop in
            try NIOHost(of: loop, on: eventLoop)
            log.at(2) { eventLoop.end() }
            onOtherThread { DispatchQueue.main.async { log.note("queue") } }
            Thread.detachNewThread {
              while !RunLoop.main.isWaiting { sched_yield() }
              try? RunLoop.main.perform { log.note("block") }
            }
          }
        } catch { XCTFail("\(error)") }
      }
    }
    XCTAssertEqual(try loop.run(for: .zero), .timedOut)
    XCTAssertEqual(Set(log.value), ["queue", "block"])
  }

  /// SwiftNIO ends a process that runs its event loop in a callout which that has called.
  func test_RLK_NIO_12_theEventLoopInItsOwnCalloutIsRefused() throws {
    let child = forkProcess()
    if child == 0 {
      alarm(20)
      var none = rlimit()
      setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
      for signal in [SIGILL, SIGTRAP, SIGABRT] { Glibc.signal(signal, SIG_DFL) }
      dup2(open("/dev/null", O_WRONLY), 2)
      onOtherThread {
        try? turn { eventLoop in
          try NIOHost(of: .current, on: eventLoop)
          try RunLoop.current.perform { try? turn { _ in _exit(1) } }
        }
      }
      _exit(2)
    }
    var status: Int32 = 0
    XCTAssertEqual(waitpid(child, &status, 0), child)
    XCTAssertTrue([SIGILL, SIGTRAP, SIGABRT].contains(status & 0x7f), "\(status)")
  }

  /// That run has replaced the epoll instance: nobody watches the new one, and nobody serves the loop.
  func test_RLK_NIO_5_aRunThatReplacesTheEpollInstance() throws {
    try turn { [log, loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      let rounds = 100
      log.at(rounds) { eventLoop.end() }
      @Sendable func round(_ number: Int) {
        do {
          let before = try loop.hostDescriptor()
          let pipe = Pipe()
          let reading = dup(pipe.fileHandleForReading.fileDescriptor)
          let source = try RunLoop.FileDescriptorSource(fileDescriptor: reading, interest: .readable) { _, _ in }
          try loop.add(source)
          close(reading)  // before its source is gone, and a duplicate stays
          source.invalidate()
          pipe.fileHandleForWriting.write(Data([1]))
          while try loop.hostDescriptor() == before { try loop.run(for: .zero) }
        } catch { XCTFail("\(error)") }
        Thread.detachNewThread {
          while !RunLoop.main.isWaiting { sched_yield() }
          try? RunLoop.main.perform {
            log.note("block")
            if number < rounds { next(number + 1) }
          }
        }
      }
      /// When the loop is asleep, so that nothing but this run can lose the watch.
      @Sendable func next(_ number: Int) {
        Thread.detachNewThread {
          while !RunLoop.main.isWaiting { sched_yield() }
          eventLoop.execute { round(number) }
        }
      }
      next(1)
    }
    XCTAssertEqual(log.value.count, 100)
  }

  // MARK: Modes, and another epoll instance

  func test_RLK_NIO_9_aHostServesItsMode() throws {
    try turn { [log, loop] eventLoop in
      try NIOHost(of: loop, in: .tracking, on: eventLoop)
      log.at(1) { eventLoop.end() }
      try loop.perform(in: .default) { log.note("default") }
      try loop.perform(in: .tracking) { log.note("tracking") }
    }
    XCTAssertEqual(log.value, ["tracking"])
    try loop.run(for: .zero)
    XCTAssertEqual(log.value, ["tracking", "default"])
  }

  func test_RLK_NIO_9_aLoopHasOneHost() throws {
    try turn { [loop] eventLoop in
      let host = try NIOHost(of: loop, on: eventLoop)
      for mode: RunLoop.Mode in [.default, .tracking] {
        XCTAssertThrowsError(try NIOHost(of: loop, in: mode, on: eventLoop)) {
          XCTAssertEqual($0 as? RunLoopError, .hostedElsewhere)
          XCTAssertTrue("\($0)".contains("kCFRunLoopDefaultMode"), "\($0)")
        }
      }
      XCTAssertTrue(host.isAttached)
      host.detach()
      XCTAssertNoThrow(try NIOHost(of: loop, in: .tracking, on: eventLoop))
      eventLoop.end()
    }
  }

  /// The loop's epoll instance is another one: what the kernel watches has been the old one.
  func test_RLK_NIO_10_afterARebuild() throws {
    let pipe = Pipe()
    try turn { [log, loop] eventLoop in
      try NIOHost(of: loop, on: eventLoop)
      let before = try loop.hostDescriptor()
      let reading = dup(pipe.fileHandleForReading.fileDescriptor)
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: reading, interest: .readable) { _, _ in }
      try loop.add(source)
      log.at(100) { eventLoop.end() }
      try loop.perform {
        close(reading)  // before its source is gone, and a duplicate stays
        source.invalidate()
        pipe.fileHandleForWriting.write(Data([1]))
      }
      Load.begin(on: eventLoop) {
        guard (try? loop.hostDescriptor()) != before else { return true }
        Thread.detachNewThread {
          for number in 1...100 {
            try? RunLoop.main.perform { log.note("block") }
            while log.value.count < number { sched_yield() }
          }
        }
        return false
      }
    }
    XCTAssertEqual(log.value.count, 100)
  }
}
