import RunLoopKit
import RunLoopTesting
import Testing

/// The order of what is performed, in virtual time.
@Suite struct PerformTests {
  @Test func delaysOfOneDateRunInTheOrderOfAsking() async throws {
    try await VirtualTime.run { _ in
      let (loop, log) = (RunLoop.current, Log())
      for number in 0..<3 {
        try loop.perform(after: .seconds(2)) { log.append("two \(number)") }
        try loop.perform(after: .seconds(1)) { log.append("one \(number)") }
        try loop.perform(after: .zero) { log.append("zero \(number)") }
        try loop.perform(after: .seconds(-1)) { log.append("negative \(number)") }
      }
      #expect(log.all == [])
      #expect(try loop.run(for: .seconds(3600)) == .finished)
      #expect(
        log.all == [
          "zero 0", "negative 0", "zero 1", "negative 1", "zero 2", "negative 2", "one 0", "one 1", "one 2", "two 0",
          "two 1",
          "two 2",
        ])
    }
  }

  @Test func aDelayOfZeroWaitsForTheNextTurnOfTheTimers() async throws {
    try await VirtualTime.run { _ in
      let (loop, log) = (RunLoop.current, Log())
      let observer = RunLoop.Observer(.beforeTimers) { _, _ in log.append("pass") }
      try loop.add(observer)
      @Sendable func again(_ left: Int) {
        log.append("block \(left)")
        guard left > 0 else { return }
        _ = try? loop.perform(after: .zero) { again(left - 1) }
        log.append("asked")
      }
      try loop.perform(after: .zero) { again(2) }
      #expect(try loop.run(for: .seconds(60)) == .finished)
      #expect(log.all == ["pass", "block 2", "asked", "pass", "block 1", "asked", "pass", "block 0"])
    }
  }

  @Test func delaysWaitForTheirModes() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      loop.addCommonMode("shared")
      func ask(_ name: String, in modes: RunLoop.Mode...) throws {
        try loop.perform(after: .seconds(1), in: modes) {
          log.append("\(name) in \(loop.currentMode!.rawValue)")
        }
      }
      try ask("private", in: "private")
      try ask("default", in: .default)
      try ask("common", in: .common)
      try ask("either", in: "private", "shared")
      try ask("late", in: "private", "late")
      #expect(try loop.run(in: "private", for: .seconds(10)) == .finished)
      #expect(log.all == ["private in private", "either in private", "late in private"])
      #expect(try loop.run(in: "shared", for: .seconds(10)) == .finished)
      #expect(log.all.last == "common in shared")
      #expect(try loop.run(in: "late", for: .seconds(10)) == .finished)
      let before = time.now
      #expect(try loop.run(in: .default, for: .seconds(10)) == .finished)
      #expect(log.all.count == 5 && log.all.last!.hasPrefix("default") && time.now == before)
    }
  }

  @Test func blocksOfOneModeKeepTheirOrderAmongThoseOfOthers() async throws {
    try await VirtualTime.run { _ in
      let (loop, log) = (RunLoop.current, Log())
      let modes: [[RunLoop.Mode]] = [["a"], ["b"], ["a", "b"], ["c"], ["c", "a"]]
      for number in 0..<50 {
        let names = modes[(number * 7 + number / 3) % modes.count]
        try loop.perform(in: names) {
          log.append("\(loop.currentMode!.rawValue) \(number)")
        }
      }
      var seen = 0
      for mode: RunLoop.Mode in ["b", "a", "c"] {
        #expect(try loop.run(in: mode, for: .zero) == .timedOut)
        let ran = log.all[seen...]
        seen = log.all.count
        #expect(ran.allSatisfy { $0.hasPrefix(mode.rawValue + " ") } && !ran.isEmpty)
        let numbers = ran.map { Int($0.split(separator: " ")[1])! }
        #expect(numbers == numbers.sorted())
      }
      #expect(seen == 50)
    }
  }

  @Test func onlyPerformWakesAndDelaysWakeByThemselves() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      let start = time.now
      @Sendable func note(_ text: String) { log.append("\(text) at \(start.duration(to: time.now))") }
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(100))) { _ in })
      let other = time.start {
        time.advance(by: .seconds(1))
        try? loop.enqueue { note("enqueued") }
        time.advance(by: .seconds(1))
        try? loop.perform { note("performed") }
        time.advance(by: .seconds(1))
        let cancelled = try? loop.perform(after: .seconds(5)) { note("cancelled") }
        _ = try? loop.perform(after: .seconds(7)) { note("delayed") }
        time.advance(by: .seconds(1))
        #expect(cancelled?.cancel() == true)
      }
      #expect(try loop.run(for: .seconds(1000)) == .finished)
      other.join()
      #expect(log.all == ["enqueued at 2.0 seconds", "performed at 2.0 seconds", "delayed at 10.0 seconds"])
    }
  }
}
