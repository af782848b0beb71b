import CTestSupport
import Glibc
import RunLoopKit
import RunLoopTesting
import Testing

/// The words in which a loop describes itself, all of them: in virtual time, so that its dates are exact.
@Suite struct DescriptionTextTests {
  /// The numbers of descriptors are the system's.
  private static func text(of loop: RunLoop) -> String {
    loop.description.replacing(/descriptor \d+/, with: "descriptor N")
  }

  private static func part(of loop: RunLoop, _ beginning: String) -> String? {
    text(of: loop).split(separator: "\n").map { String($0.trimmingPrefix { $0 == " " }) }
      .first { $0.hasPrefix(beginning) }
  }

  private static let empty = """
        signalled sources: 0
        port sources: 0
        observers: 0
        timers: 0
        pending blocks: 0
        soft deadline: never, hard deadline: never
      }

    """

  /// A name is common before there is a mode of that name.
  @Test func test_RLK_TEXT_1_aLoopThatHasNothing() async throws {
    try await VirtualTime.run { _ in
      let loop = RunLoop.current
      loop.addCommonMode("later")
      #expect(
        Self.text(of: loop) == """
          RunLoop {
            wakeup port: none yet, stopped: no, ignoring wakeups: yes (not running), waiting: no
            current mode: none
            common modes: kCFRunLoopDefaultMode, later
            common items: 0
            mode kCFRunLoopDefaultMode (common) {
              port set: none yet, timer port: none
              kept by: nothing, it is finished

          """ + Self.empty + "}")
      try loop.add(RunLoop.Source { _ in }, to: .common)
      #expect(Self.part(of: loop, "common modes") == "common modes: kCFRunLoopDefaultMode, later")
      #expect(Self.part(of: loop, "mode later") == "mode later (common) {")
    }
  }

  @Test func test_RLK_TEXT_1_aLoopThatHasSomethingOfEachKind() async throws {
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      loop.spinLimit = .microseconds(20)
      let source = RunLoop.Source(order: 7) { _ in }
      try loop.add(source, to: .common)
      source.signal()
      try loop.add(RunLoop.Port { _, _ in })
      let counter = test_eventfd(0)
      try loop.add(RunLoop.PortSource(fileDescriptor: counter) { _ in })
      try loop.add(RunLoop.Observer([.entry, .exit], order: -3) { _, _ in })
      try loop.add(
        RunLoop.Timer(
          fireDate: time.now.advanced(by: .seconds(100)), interval: .seconds(4), tolerance: .seconds(1)
        ) { _ in })
      let background = RunLoop.Timer(fireDate: time.now.advanced(by: .seconds(200))) { _ in }
      background.keepsRunning = false
      try loop.add(background)
      try loop.enqueue {}
      Task(executorPreference: loop.executor) {}
      #expect(
        Self.text(of: loop) == """
          RunLoop {
            wakeup port: descriptor N, stopped: no, ignoring wakeups: yes (not running), waiting: no, \
          spinning before a sleep: 2e-05 seconds
            current mode: none
            common modes: kCFRunLoopDefaultMode
            common items: 2
              <source order 7, valid, signalled>
              <source "jobs" order 0, valid, signalled>
            mode kCFRunLoopDefaultMode (common) {
              port set: descriptor N, timer port: descriptor N, armed for 101.0 seconds
              kept by: 2 signalled sources, 1 watched source, 1 port, 2 timers, 1 block, \
          of which 2 in the background keep nothing, 1 job
              signalled sources: 2
                <source order 7, valid, signalled>
                <source "jobs" order 0, valid, signalled>
              port sources: 2
                <port source order 0, descriptor N, valid>
                <port, 0 of 1024 messages, valid>
              observers: 1
                <observer order -3, entry|exit, repeats, valid>
              timers: 2
                <timer order 0, next in 100.0 seconds, interval 4.0 seconds, tolerance 1.0 seconds>
                <timer order 0, next in 200.0 seconds, interval 0.0 seconds, tolerance 0.0 seconds>
              pending blocks: 1
              soft deadline: 100.0 seconds, hard deadline: 101.0 seconds
            }
          }
          """)
      close(counter)
    }
  }

  /// One of the common modes keeps each of them, and no other mode; one of several modes keeps these.
  @Test func test_RLK_TEXT_1_whatBlocksKeep() async throws {
    try await VirtualTime.run { _ in
      let (loop, nothing) = (RunLoop.current, "kept by: nothing, it is finished")
      let modes: [RunLoop.Mode] = [.default, "common", "own", "other"]
      loop.addCommonMode("common")
      for mode in modes { try loop.add(RunLoop.Observer(.exit) { _, _ in }, to: mode) }
      func kept() -> [String] {
        let lines = Self.text(of: loop).split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }
        return modes.map { mode in
          String(lines.drop { !$0.hasPrefix("mode \(mode.rawValue) ") }.first { $0.hasPrefix("kept by") } ?? "")
        }
      }
      #expect(kept() == [nothing, nothing, nothing, nothing])
      try loop.enqueue(in: .common) {}
      #expect(kept() == ["kept by: 1 block", "kept by: 1 block", nothing, nothing])
      try loop.enqueue(in: "own", "common") {}
      #expect(kept() == ["kept by: 1 block", "kept by: 2 blocks", "kept by: 1 block", nothing])
      loop.addCommonMode("other")
      #expect(kept()[3] == "kept by: 1 block")
      try loop.run(for: .zero)
      #expect(kept() == [nothing, "kept by: 1 block", "kept by: 1 block", nothing])
      try loop.run(in: "common", for: .zero)
      #expect(kept() == [nothing, nothing, nothing, nothing])
    }
  }

  @Test func test_RLK_TEXT_2_aLoopThatRuns() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      let date = time.now.advanced(by: .seconds(10))
      try loop.add(
        RunLoop.Timer(fireDate: date) { _ in
          loop.stop()
          log.append(Self.part(of: loop, "wakeup port") ?? "")
          log.append(Self.part(of: loop, "current mode") ?? "")
          log.append(Self.part(of: loop, "<timer") ?? "")
        }, to: "panel")
      try loop.add(RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.distantFuture) { _ in }, to: "panel")
      let other = time.start {
        time.advance(by: .seconds(1))
        log.append(Self.part(of: loop, "wakeup port") ?? "")
        log.append(Self.part(of: loop, "port set: descriptor") ?? "")
        log.append(Self.part(of: loop, "timer port of") ?? "")
      }
      #expect(try loop.run(in: "panel") == .stopped)
      other.join()
      #expect(
        log.all == [
          "wakeup port: descriptor N, stopped: no, ignoring wakeups: no, waiting: yes",
          "port set: descriptor N, timer port: descriptor N, armed for 9.0 seconds",
          "timer port of the continuous clock: descriptor N, not armed",
          "wakeup port: descriptor N, stopped: yes, ignoring wakeups: no, waiting: no", "current mode: panel",
          "<timer order 0, next in 0.0 seconds, interval 0.0 seconds, tolerance 0.0 seconds, firing>",
        ])
    }
  }

  @Test func test_RLK_TEXT_1_aLoopThatHasEnded() async throws {
    try await VirtualTime.run { time in
      let thread = RunLoop.Thread(name: "ended")
      try thread.start()
      thread.stop()
      try thread.join()
      #expect(thread.loop?.description == "<RunLoop, ended>")
      withExtendedLifetime(time) {}
    }
  }
}
