import Glibc
import RunLoopEvents
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Items that any thread makes for a loop, by a function of the loop.
final class LoopItemTests: XCTestCase {
  private let timers = ["after", "date", "rearmable", "rearmable of a date", "frame"]
  private let others = ["observer", "source", "port source", "descriptor", "port", "answering", "commit"]

  private func makeTimers(_ loop: RunLoop, _ note: @escaping @Sendable (String) -> Void) throws {
    try loop.timer(after: .zero) { _ in note("after") }
    try loop.timer(fireDate: RunLoop.WallInstant.now) { timer in
      XCTAssertEqual(timer.clock, .wall)
      note("date")
    }
    let rearmable = try loop.rearmableTimer(on: .continuous) { timer in
      XCTAssertEqual(timer.clock, .continuous)
      note("rearmable")
      timer.invalidate()
    }
    XCTAssertEqual(rearmable.fireDate, .distantFuture)
    rearmable.rearm(after: .zero)
    try loop.rearmableTimer(fireDate: RunLoop.Instant.now) { timer in
      XCTAssertTrue(timer.isRearmable)
      note("rearmable of a date")
      timer.invalidate()
    }
    try loop.displayLink(rate: RunLoop.FrameRate(frames: 1000)) { link, _ in
      note("frame")
      link.invalidate()
    }
  }

  private func makeOthers(
    _ loop: RunLoop, _ counters: [EventCounter], _ note: @escaping @Sendable (String) -> Void
  ) throws {
    try loop.observe(.beforeTimers, repeats: false) { _, _ in note("observer") }
    try loop.source { source in
      note("source")
      source.invalidate()
    }.signal()
    try loop.portSource(fileDescriptor: counters[0].descriptor) { source in
      note("port source")
      source.invalidate()
    }
    try loop.fileDescriptorSource(fileDescriptor: counters[1].descriptor, interest: .readable) { source, _ in
      note("descriptor")
      source.invalidate()
    }
    let port = try loop.port { port, _ in
      note("port")
      port.invalidate()
    }
    let answering = try loop.port(replying: { port, _ in
      note("answering")
      port.invalidate()
      return nil
    })
    for port in [port, answering] { try port.sendRight.send(RunLoop.Message()) }
    try loop.commit { note("commit") }.setNeeded()
  }

  func test_RLK_MAKE_1_anotherThreadMakesWhatTheLoopsOwnThreadCalls() {
    onThread {
      let (loop, own, calls) = (RunLoop.current, pthread_self(), Box<[String]>([]))
      let counters = [EventCounter(), EventCounter()]
      defer { withExtendedLifetime(counters) {} }
      for counter in counters { counter.add() }
      let note: @Sendable (String) -> Void = { name in
        XCTAssertEqual(pthread_self(), own)
        calls.update { $0.append(name) }
      }
      TestThread {
        do {
          try self.makeTimers(loop, note)
          try self.makeOthers(loop, counters, note)
        } catch { XCTFail("\(error)") }
      }.join()
      XCTAssertEqual(calls.value, [])
      XCTAssertEqual(try loop.run(for: .seconds(60)), .finished)
      XCTAssertEqual(calls.value.sorted(), (self.timers + self.others).sorted())
    }
  }

  func test_RLK_MAKE_1_theOptionsOfATimerAreItsOwn() {
    onThread {
      let (loop, mode) = (RunLoop.current, "options" as RunLoop.Mode)
      let (interval, tolerance) = (Duration.seconds(7), Duration.seconds(2))
      let timers = [
        try loop.timer(after: .seconds(60), interval: interval, tolerance: tolerance, on: .continuous, in: mode) { _ in
        },
        try loop.timer(
          fireDate: RunLoop.WallInstant.distantFuture, interval: interval, tolerance: tolerance, in: mode
        ) { _ in },
        try loop.rearmableTimer(on: .wall, tolerance: tolerance, order: 1, in: mode) { _ in },
        try loop.rearmableTimer(
          fireDate: RunLoop.ContinuousInstant.distantFuture, tolerance: tolerance, order: 2, in: mode
        ) { _ in },
      ]
      XCTAssertEqual(timers.map(\.clock), [.continuous, .wall, .wall, .continuous])
      XCTAssertEqual(timers.prefix(2).map(\.interval), [interval, interval])
      XCTAssertEqual(timers.map(\.isRearmable), [false, false, true, true])
      XCTAssertEqual(timers.map(\.tolerance), Array(repeating: tolerance, count: 4))
      XCTAssertEqual(timers.map(\.order), [0, 0, 1, 2])
      XCTAssertEqual(Set(loop.items(in: mode)), Set(timers as [RunLoop.Item]))
      XCTAssertEqual(loop.items(in: .default), [])
      let left = RunLoop.Instant.now.duration(to: timers[0].fireDate!)
      XCTAssertTrue(left > .seconds(1) && left <= .seconds(60), "\(left)")
    }
  }

  private final class Receiver: RunLoop.PortDelegate, Sendable {
    func port(_ port: RunLoop.Port, didReceive message: RunLoop.Message) {}
  }

  func test_RLK_MAKE_1_theOptionsOfAnItemAreItsOwn() {
    onThread {
      let (loop, mode, counter, pipe) = (RunLoop.current, "options" as RunLoop.Mode, EventCounter(), Pipe())
      defer { withExtendedLifetime(counter) {} }
      let (entered, delegate) = (Box(0), Receiver())
      var hooks = RunLoop.Source.Hooks()
      hooks.schedule = { _, _ in entered.value += 1 }
      let observer = try loop.observe(.exit, order: 3, in: mode) { _, _ in }
      XCTAssertTrue(observer.activities == .exit && observer.repeats)
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(3600))
      let items: [RunLoop.Item] = [
        observer, try loop.source(order: 4, hooks: hooks, in: mode) { _ in },
        try loop.portSource(fileDescriptor: counter.descriptor, limit: limit, order: 5, in: mode) { _ in },
      ]
      XCTAssertEqual(items.map(\.order), [3, 4, 5])
      XCTAssertEqual(entered.value, 1)
      let source = try loop.fileDescriptorSource(
        fileDescriptor: pipe.reading, interest: .writable, trigger: .edge, ownership: .closesWhenInvalidated,
        limit: limit, order: 6, in: mode
      ) { _, _ in }
      XCTAssertTrue(source.interest == .writable && source.order == 6)
      let ports = [
        try loop.port(queueLimit: 2, in: mode) { _, _ in },
        try loop.port(queueLimit: 2, in: mode, replying: { _, message in message }),
        try loop.port(queueLimit: 2, in: mode, delegate: delegate),
      ]
      XCTAssertEqual(ports.map(\.queueLimit), [2, 2, 2])
      let rate = RunLoop.FrameRate(frames: 3, per: .seconds(1000))
      let link = try loop.displayLink(rate: rate, in: mode) { _, _ in }
      XCTAssertEqual(link.rate, rate)
      let commit = try loop.commit(in: mode, at: .afterReady, order: 7) {}
      XCTAssertEqual(loop.items(in: mode).count, 10)
      XCTAssertTrue(loop.items(in: mode).contains { $0 is RunLoop.Observer && $0.order == 7 })
      XCTAssertEqual(loop.items(in: .default), [])
      commit.invalidate()
      source.invalidate()
      XCTAssertFalse(pipe.hasReader)
      close(pipe.writing)
    }
  }

  /// And of the other modules.
  func test_RLK_MAKE_1_sourcesOfEventsAndNamedPorts() {
    let name = NameFolder.newName()
    onThread {
      let (loop, mode, calls, delegate) = (RunLoop.current, "events" as RunLoop.Mode, Box(0), Receiver())
      let watches = [
        try loop.fileWatch(path: "/", events: .changes, order: 1, in: mode) { _, _ in },
        try loop.fileWatch(pathBytes: Array("/tmp".utf8), events: .created, order: 2, in: mode) { _, _ in },
      ]
      XCTAssertEqual(watches.map(\.order), [1, 2])
      let ports = [
        try loop.port(registeredAs: name, queueLimit: 3, in: mode) { port, _ in
          calls.value += 1
          port.invalidate()
        },
        try loop.port(registeredAs: name + "-a", queueLimit: 3, in: mode, replying: { _, _ in nil }),
        try loop.port(registeredAs: name + "-b", queueLimit: 3, in: mode, delegate: delegate),
      ]
      XCTAssertEqual(ports.map(\.queueLimit), [3, 3, 3])
      XCTAssertEqual(ports.map(\.name), [name, name + "-a", name + "-b"])
      XCTAssertEqual(Set(loop.items(in: mode)), Set(watches as [RunLoop.Item] + ports))
      try ports[0].sendRight.send(RunLoop.Message())
      XCTAssertEqual(try loop.run(in: mode, for: .seconds(60), returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(calls.value, 1)
    }
  }

  /// Nothing is left of what it would have been: no closure, no descriptor.
  func test_RLK_MAKE_2_aLoopThatHasEndedReleasesWhatItRefuses() throws {
    let ended = Box<RunLoop?>(nil)
    onThread { ended.value = RunLoop.current }
    let loop = try XCTUnwrap(ended.value)
    let (gone, pipe) = (Box(0), Pipe())
    let makers: [@Sendable (RunLoop, Token) throws -> Void] = [
      { loop, token in try loop.timer(after: .zero) { _ in withExtendedLifetime(token) {} } },
      { loop, token in try loop.timer(fireDate: RunLoop.Instant.now) { _ in withExtendedLifetime(token) {} } },
      { loop, token in _ = try loop.rearmableTimer { _ in withExtendedLifetime(token) {} } },
      { loop, token in try loop.observe(.all) { _, _ in withExtendedLifetime(token) {} } },
      { loop, token in try loop.source { _ in withExtendedLifetime(token) {} } },
      { loop, token in try loop.port { _, _ in withExtendedLifetime(token) {} } },
      { loop, token in _ = try loop.commit { withExtendedLifetime(token) {} } },
      { loop, token in try loop.displayLink { _, _ in withExtendedLifetime(token) {} } },
      { [reading = pipe.reading] loop, token in
        try loop.fileDescriptorSource(
          fileDescriptor: reading, interest: .readable, ownership: .closesWhenInvalidated
        ) { _, _ in withExtendedLifetime(token) {} }
      },
    ]
    for (number, make) in makers.enumerated() {
      XCTAssertEqual(thrown { try make(loop, Token { gone.value += 1 }) }, .loopEnded, "\(number)")
      XCTAssertEqual(gone.value, number + 1)
    }
    XCTAssertFalse(pipe.hasReader)
    close(pipe.writing)
  }
}
