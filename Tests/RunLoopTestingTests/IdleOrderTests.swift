import Glibc
import RunLoopKit
import RunLoopTesting
import Testing

/// Idle work comes behind all else, also behind what becomes ready in the pass that is about to wait: in virtual time.
@Suite struct IdleOrderTests {
  enum Kind: CaseIterable, Sendable {
    case descriptor, message, timer, otherClock, source, block
  }

  private static func prepare(_ kind: Kind, _ log: Log, on loop: RunLoop) throws -> @Sendable () throws -> Void {
    switch kind {
    case .descriptor:
      let ends = try FaultCaseTests.Ends()
      try loop.add(
        RunLoop.FileDescriptorSource(fileDescriptor: ends.reading, interest: .readable) { _, _ in
          ends.drain()
          log.append("work")
        })
      return { ends.fill() }
    case .message:
      let port = RunLoop.Port { _, _ in log.append("work") }
      try loop.add(port)
      return { try port.sendRight.trySend(RunLoop.Message()) }
    case .timer: return { try loop.add(RunLoop.Timer(fireDate: .now) { _ in log.append("work") }) }
    // There is a timer of the first clock, too.
    case .otherClock:
      return { try loop.add(RunLoop.Timer(fireDate: RunLoop.WallInstant.now) { _ in log.append("work") }) }
    case .source:
      let source = RunLoop.Source { _ in log.append("work") }
      try loop.add(source)
      return { source.signal() }
    case .block: return { try loop.enqueue { log.append("work") } }
    }
  }

  /// An observer makes it ready when the loop is about to wait.
  @Test(arguments: Kind.allCases) func test_RLK_IDLE_5_whatHasJustBecomeReadyComesFirst(_ kind: Kind) async throws {
    let log = Log()
    try await VirtualTime.run { _ in
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
      let makeReady = try Self.prepare(kind, log, on: loop)
      try loop.performWhenIdle { log.append("idle") }
      try loop.add(
        RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in
          #expect(throws: Never.self) { try makeReady() }
        })
      #expect(try loop.run(for: .seconds(1)) == .timedOut)
    }
    #expect(log.all == ["work", "idle"])
  }

  /// While an idle block runs: what its own thread queues waits for the next run, and what another thread queues wakes
  /// the loop.
  @Test func whatAnotherThreadQueuesMeanwhileWakesTheLoop() async throws {
    let log = Log()
    try await VirtualTime.run { _ in
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
      try loop.performWhenIdle {
        let thread = makeThread { try? loop.performWhenIdle { log.append("another thread's") } }
        pthread_join(thread, nil)
        try? loop.performWhenIdle { log.append("its own") }
        log.append("first")
      }
      #expect(try loop.run(for: .seconds(1)) == .timedOut)
      #expect(log.all == ["first", "another thread's"])
      #expect(try loop.run(for: .seconds(1)) == .timedOut)
      #expect(log.all == ["first", "another thread's", "its own"])
    }
  }

  /// The kernel tells of an edge once: that of the second one waits in the loop while the first one is served.
  @Test func test_RLK_IDLE_5_whatAWaitHasFoundComesFirst() async throws {
    let log = Log()
    try await VirtualTime.run { _ in
      let loop = RunLoop.current
      for _ in 1...2 {
        let ends = try FaultCaseTests.Ends()
        try loop.add(
          RunLoop.FileDescriptorSource(fileDescriptor: ends.reading, interest: .readable, trigger: .edge) { _, _ in
            log.append("work")
          })
        ends.fill()
      }
      try loop.performWhenIdle { log.append("idle") }
      #expect(try loop.run(for: .seconds(1)) == .timedOut)
    }
    #expect(log.all == ["work", "work", "idle"])
  }
}
