import InMemoryLogging
import Logging
import RunLoopKit
import RunLoopLogging
import RunLoopTesting
import Testing

struct RunLoopLoggingTests {
  @Test func slowCalloutsAreLogged() async throws {
    let log = InMemoryLogHandler()
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      loop.logSlowCallouts(longerThan: .milliseconds(100), to: Logger(label: "loop") { _ in log })
      for (name, taken) in [("quick", 100), ("slow", 250)] {
        let timer = RunLoop.Timer(fireDate: time.now) { _ in time.advance(by: .milliseconds(taken)) }
        timer.label = name
        try loop.add(timer)
      }
      try loop.run()
      loop.stopReportingSlowCallouts()
      try loop.perform { time.advance(by: .seconds(1)) }
      try loop.run(for: .zero)
    }
    let mode = RunLoop.Mode.default.rawValue
    #expect(
      log.entries == [
        .init(
          level: .warning, message: "a callout of a run loop is slow",
          metadata: ["callout": "slow", "kind": "timer", "mode": "\(mode)", "milliseconds": "250.0"])
      ])
  }

  @Test func theLevelIsTheCallers() async throws {
    let log = InMemoryLogHandler()
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      loop.logSlowCallouts(longerThan: .zero, to: Logger(label: "loop") { _ in log }, at: .error)
      try loop.perform { time.advance(by: .milliseconds(1)) }
      try loop.run(for: .zero)
    }
    #expect(log.entries.map(\.level) == [.error])
    #expect(log.entries.map { $0.metadata["callout"] } == ["block"])
  }

  @Test func figuresAreMetadata() async throws {
    let metadata = try await VirtualTime.run { time in
      let loop = RunLoop.current
      loop.collectsStatistics = true
      try loop.add(RunLoop.Timer(after: .seconds(1)) { _ in time.advance(by: .milliseconds(500)) })
      try loop.perform {}
      try loop.run()
      return loop.statistics.logMetadata
    }
    #expect(metadata["runs"] == "1")
    #expect(metadata["timersFired"] == "1")
    #expect(metadata["blocksPerformed"] == "1")
    #expect(metadata["busyMilliseconds"] == "500.0")
    #expect(metadata["sleepMilliseconds"] == "1000.0")
    #expect(metadata.count == 12)
  }
}
