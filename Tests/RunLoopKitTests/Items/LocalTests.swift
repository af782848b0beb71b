import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Items whose closures capture what belongs to the loop's thread.
final class LocalTests: XCTestCase {
  /// Not Sendable. Its deinit notes the thread.
  private final class Owned {
    private let gone: Box<[pthread_t]>
    private(set) var calls: [String] = []

    init(_ gone: Box<[pthread_t]>) { self.gone = gone }
    deinit { gone.update { $0.append(pthread_self()) } }

    func call(_ name: String) { calls.append(name) }
  }

  /// Not Sendable either.
  private final class Receiver: RunLoop.PortDelegate {
    private(set) var ids: [UInt32] = []
    func port(_ port: Port, didReceive message: Message) { ids.append(message.id) }
  }

  private let timers = ["after", "suspending", "continuous", "wall", "clock", "rearmable", "delayed"]
  private let others = [
    "observer", "source", "port source", "descriptor", "frame", "block", "either", "queued", "named",
  ]

  private func makeTimers(_ loop: RunLoop, _ owned: Owned) throws {
    try loop.assumeOnLoop { local in
      try local.timer(after: .zero) { _ in owned.call("after") }
      try local.timer(fireDate: .now) { _ in owned.call("suspending") }
      try local.timer(fireDate: RunLoop.ContinuousInstant.now) { _ in owned.call("continuous") }
      try local.timer(fireDate: RunLoop.WallInstant.now) { _ in owned.call("wall") }
      try local.timer(after: .zero, on: .continuous) { timer in
        XCTAssertEqual(timer.clock, .continuous)
        owned.call("clock")
      }
      let rearmable = try local.rearmableTimer(on: .wall) { timer in
        XCTAssertEqual(timer.clock, .wall)
        owned.call("rearmable")
        timer.invalidate()
      }
      XCTAssertEqual(rearmable.wallFireDate, .distantFuture)
      rearmable.rearm(after: .zero)
      try local.perform(after: .zero, target: owned, key: "key") { owned.call("delayed") }
    }
  }

  private func makeOthers(_ loop: RunLoop, _ owned: Owned, _ counters: [EventCounter], _ entered: Box<Int>) throws {
    try loop.assumeOnLoop { local in
      try local.observer(.beforeTimers, repeats: false) { observer, _ in
        XCTAssertFalse(observer.repeats)
        owned.call("observer")
      }
      var hooks = RunLoop.Source.Hooks()
      hooks.schedule = { _, _ in entered.value += 1 }
      try local.source(hooks: hooks) { source in
        owned.call("source")
        source.invalidate()
      }.signal()
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(3600))
      try local.portSource(fileDescriptor: counters[0].descriptor, limit: limit) { source in
        owned.call("port source")
        source.invalidate()
      }
      try local.fileDescriptorSource(fileDescriptor: counters[1].descriptor, interest: .readable, limit: limit) {
        source, _ in
        owned.call("descriptor")
        source.invalidate()
      }
      try local.displayLink(rate: RunLoop.FrameRate(frames: 1000)) { link, _ in
        owned.call("frame")
        link.invalidate()
      }
      try local.perform { owned.call("block") }
      try local.perform(in: "never", .default) { owned.call("either") }
      try local.enqueue { owned.call("queued") }
    }
  }

  /// An idle block keeps no mode going: a timer does.
  private func runIdle(_ loop: RunLoop, _ owned: Owned) throws {
    let never = RunLoop.Timer.never()
    try loop.add(never)
    try loop.assumeOnLoop { local in
      try local.performWhenIdle {
        owned.call("idle")
        loop.stop()
      }
    }
    XCTAssertEqual(try loop.run(), .stopped)
    never.invalidate()
    XCTAssertEqual(owned.calls.last, "idle")
  }

  func test_RLK_LOCAL_1_eachKindIsCalledAndReleasedOnItsThread() throws {
    let name = NameFolder.newName()
    onThread {
      let (loop, gone, entered) = (RunLoop.current, Box<[pthread_t]>([]), Box(0))
      let counters = [EventCounter(), EventCounter()]
      defer { withExtendedLifetime(counters) {} }
      for counter in counters { counter.add() }
      func serve() throws {
        let owned = Owned(gone)
        try self.makeTimers(loop, owned)
        try self.makeOthers(loop, owned, counters, entered)
        let port = try loop.assumeOnLoop { local in
          try local.port(registeredAs: name) { port, _ in
            owned.call("named")
            port.invalidate()
          }
        }
        try port.sendRight.send(Message())
        XCTAssertEqual(try loop.run(for: .seconds(60)), .finished)
        XCTAssertEqual(owned.calls.sorted(), (self.timers + self.others).sorted())
        try self.runIdle(loop, owned)
      }
      try serve()
      XCTAssertEqual(entered.value, 1)
      XCTAssertEqual(gone.value, [pthread_self()])
    }
  }

  func test_RLK_LOCAL_1_theOptionsOfATimerAreItsOwn() {
    onThread {
      let (loop, mode) = (RunLoop.current, "options" as RunLoop.Mode)
      try loop.assumeOnLoop { local in
        let (interval, tolerance) = (Duration.seconds(7), Duration.seconds(2))
        let timers = [
          try local.timer(after: .seconds(60), interval: interval, tolerance: tolerance, on: .continuous, in: mode) {
            _ in
          },
          try local.timer(fireDate: .distantFuture, interval: interval, tolerance: tolerance, in: mode) { _ in },
          try local.timer(
            fireDate: RunLoop.ContinuousInstant.distantFuture, interval: interval, tolerance: tolerance, in: mode
          ) { _ in },
          try local.timer(
            fireDate: RunLoop.WallInstant.distantFuture, interval: interval, tolerance: tolerance, in: mode
          ) { _ in },
        ]
        XCTAssertEqual(timers.map(\.interval), [interval, interval, interval, interval])
        XCTAssertEqual(timers.map(\.clock), [.continuous, .suspending, .continuous, .wall])
        let rearmable = try local.rearmableTimer(on: .wall, tolerance: tolerance, order: 3, in: mode) { _ in }
        XCTAssertTrue(rearmable.isRearmable && rearmable.clock == .wall && rearmable.order == 3)
        XCTAssertEqual((timers + [rearmable]).map(\.tolerance), Array(repeating: tolerance, count: 5))
        XCTAssertEqual(Set(loop.items(in: mode).map { ObjectIdentifier($0) }).count, 5)
        XCTAssertEqual(loop.items(in: .default), [])
      }
    }
  }

  /// As the initialiser of the type has it: armed for a date, on the clock of that date, and again after it has fired.
  func test_RLK_LOCAL_4_aRearmableTimerMayHaveAFirstDate() {
    onThread {
      let (loop, mode, calls) = (RunLoop.current, "dated" as RunLoop.Mode, Box(0))
      try loop.assumeOnLoop { local in
        let date = RunLoop.ContinuousInstant.now.advanced(by: .milliseconds(1))
        let timer = try local.rearmableTimer(fireDate: date, tolerance: .zero, order: 2, in: mode) { timer in
          calls.value += 1
          if calls.value == 2 { loop.stop() } else { timer.rearm(after: .milliseconds(1)) }
        }
        XCTAssertTrue(timer.isRearmable && timer.clock == .continuous && timer.order == 2)
        XCTAssertEqual(timer.continuousFireDate, date)
        XCTAssertEqual(try loop.run(in: mode, for: .seconds(60)), .stopped)
        XCTAssertEqual(timer.continuousFireDate, .distantFuture)
        timer.invalidate()
      }
      XCTAssertEqual(calls.value, 2)
    }
  }

  func test_RLK_LOCAL_1_theOptionsOfAnItemAreItsOwn() {
    onThread {
      let (loop, mode, counter) = (RunLoop.current, "options" as RunLoop.Mode, EventCounter())
      defer { withExtendedLifetime(counter) {} }
      let (owned, once, calls, delegate) = (Pipe(), Pipe(), Box(0), Receiver())
      let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
      defer { close(null) }
      try loop.assumeOnLoop { local in
        let observer = try local.observer(.exit, order: 3, in: mode) { _, _ in }
        XCTAssertTrue(observer.activities == .exit && observer.repeats)
        let items: [RunLoop.Item] = [
          observer, try local.source(order: 4, in: mode) { _ in },
          try local.portSource(fileDescriptor: counter.descriptor, order: 5, in: mode) { _ in },
          try local.fileDescriptorSource(
            fileDescriptor: null, interest: [], unpollable: .alwaysReady, order: 6, in: mode
          ) { _, _ in },
        ]
        XCTAssertEqual(items.map(\.order), [3, 4, 5, 6])
        let closing = try local.fileDescriptorSource(
          fileDescriptor: owned.reading, interest: .writable, ownership: .closesWhenInvalidated, in: mode
        ) { _, _ in }
        XCTAssertEqual(closing.interest, .writable)
        closing.invalidate()
        XCTAssertFalse(owned.hasReader)
        try local.fileDescriptorSource(
          fileDescriptor: once.reading, interest: .readable, trigger: .oneShot, in: mode
        ) { _, _ in calls.value += 1 }
        once.send("x")
        for _ in 0..<3 { try loop.run(in: mode, for: .zero) }
        XCTAssertEqual(calls.value, 1)
        let ports = [
          try local.port(queueLimit: 2, in: mode) { _, _ in },
          try local.port(queueLimit: 2, in: mode, replying: { _, message in message }),
          try local.port(queueLimit: 2, in: mode, delegate: delegate),
        ]
        XCTAssertEqual(ports.map(\.queueLimit), [2, 2, 2])
        let rate = RunLoop.FrameRate(frames: 3, per: .seconds(1000))
        XCTAssertEqual(try local.displayLink(rate: rate, in: mode) { _, _ in }.rate, rate)
        XCTAssertEqual(loop.items(in: mode).count, 9)
        try ports[2].sendRight.send(Message(id: 7))
        XCTAssertEqual(try loop.run(in: mode, for: .zero, returnAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(delegate.ids, [7])
        XCTAssertEqual(loop.items(in: .default), [])
      }
      close(owned.writing)
      once.closeBoth()
    }
  }

  /// Of a block: once, in the first of its modes that runs.
  func test_RLK_LOCAL_1_theModesOfABlockAreItsOwn() {
    onThread {
      let (loop, ran) = (RunLoop.current, Box<[String]>([]))
      let note = { (name: String) in ran.update { $0.append(name) } }
      try loop.add(RunLoop.Timer.never(), to: "last")
      try loop.assumeOnLoop { local in
        try local.perform(in: "last") { note("performed") }
        try local.perform(in: "never", "nor this", "last") { note("performed in the third") }
        try local.enqueue(in: "last") { note("queued") }
        try local.enqueue(in: "never", "nor this", "last") { note("queued in the third") }
        try local.perform(after: .zero, in: "last") { note("delayed") }
        try local.performWhenIdle(in: "last") {
          note("idle")
          loop.stop()
        }
      }
      XCTAssertEqual(try loop.run(for: .zero), .finished)
      XCTAssertEqual(ran.value, [])
      XCTAssertEqual(try loop.run(in: "last", for: .seconds(50)), .stopped)
      XCTAssertEqual(
        ran.value,
        ["performed", "performed in the third", "queued", "queued in the third", "delayed", "idle"])
      XCTAssertTrue(loop.isEmpty(in: "never") && loop.isEmpty(in: "nor this"))
    }
  }

  func test_RLK_LOCAL_2_aDelayedPerformIsReleasedOnItsThreadWhoeverCancelsIt() {
    onThread {
      let (loop, gone, own) = (RunLoop.current, Box<[pthread_t]>([]), pthread_self())
      func ask() throws -> RunLoop.DelayedPerform {
        let owned = Owned(gone)
        return try loop.assumeOnLoop { local in
          try local.perform(after: .seconds(1000), target: owned) { owned.call("never") }
        }
      }
      // On this thread, in no callout: at once.
      XCTAssertTrue(try ask().cancel())
      XCTAssertEqual(gone.value, [own])
      let performed = try ask()
      TestThread { XCTAssertTrue(performed.cancel()) }.join()
      XCTAssertFalse(performed.isPending || performed.cancel())
      XCTAssertEqual(gone.value, [own])
      try loop.perform {}
      try loop.run(for: .zero)
      let source = RunLoop.Source { _ in }
      source.signal()
      try loop.add(source)
      try loop.run(for: .zero)
      XCTAssertEqual(gone.value, [own, own])
    }
  }

  /// A thread that removes another item releases nothing of the loop's, though no callout holds that up any more.
  func test_RLK_CLOSURE_8_anotherRemovalReleasesItOnItsThread() {
    onThread {
      let (loop, own) = (RunLoop.current, pthread_self())
      let (gone, last) = (Box<[pthread_t]>([]), Box<[pthread_t]>([]))
      func makeTimer() throws -> RunLoop.Timer {
        let owned = Owned(gone)
        return try loop.assumeOnLoop { local in
          try local.timer(after: .seconds(1000)) { _ in owned.call("never") }
        }
      }
      let timer = try makeTimer()
      let source = RunLoop.Source { source in
        TestThread {
          timer.invalidate()
          source.invalidate(finally: { last.update { $0.append(pthread_self()) } })
        }.join()
        XCTAssertEqual(gone.value + last.value, [])
      }
      try loop.add(source)
      source.signal()
      try loop.run(for: .zero)
      XCTAssertEqual(gone.value, [own])
      XCTAssertEqual(last.value, [own])
    }
  }

  func test_RLK_LOCAL_3_aTargetCancelsItsLocalPerforms() {
    onThread {
      let (loop, gone) = (RunLoop.current, Box<[pthread_t]>([]))
      let owned = Owned(gone)
      try loop.assumeOnLoop { local in
        for key in ["a", "a", "b"] { try local.perform(after: .zero, target: owned, key: key) { owned.call(key) } }
      }
      XCTAssertEqual(loop.cancelPerforms(target: owned, key: "a"), 2)
      XCTAssertEqual(try loop.run(for: .seconds(60)), .finished)
      XCTAssertEqual(owned.calls, ["b"])
      XCTAssertEqual(loop.cancelPerforms(target: owned), 0)
    }
  }
}
