import RunLoopKit
import RunLoopTesting

/// What happens in the processes of `PerformTests`.
enum PerformBodies {
  private static func require(_ condition: Bool, line: UInt = #line) { Bodies.require(condition, line: line) }

  static func delaysOfOneDateRunInTheOrderOfAsking() throws {
    _ = VirtualTime.install()
    let (loop, log) = (RunLoop.current, Bodies.Log())
    for number in 0..<3 {
      try loop.perform(after: .seconds(2)) { log.append("two \(number)") }
      try loop.perform(after: .seconds(1)) { log.append("one \(number)") }
      try loop.perform(after: .zero) { log.append("zero \(number)") }
      try loop.perform(after: .seconds(-1)) { log.append("negative \(number)") }
    }
    require(log.all == [])
    require(try loop.run(for: .seconds(3600)) == .finished)
    require(
      log.all == [
        "zero 0", "negative 0", "zero 1", "negative 1", "zero 2", "negative 2", "one 0", "one 1", "one 2", "two 0",
        "two 1",
        "two 2",
      ])
  }

  static func aDelayOfZeroWaitsForTheNextTurnOfTheTimers() throws {
    _ = VirtualTime.install()
    let (loop, log) = (RunLoop.current, Bodies.Log())
    let observer = RunLoop.Observer(.beforeTimers) { _, _ in log.append("pass") }
    try loop.add(observer)
    @Sendable func again(_ left: Int) {
      log.append("block \(left)")
      guard left > 0 else { return }
      _ = try? loop.perform(after: .zero) { again(left - 1) }
      log.append("asked")
    }
    try loop.perform(after: .zero) { again(2) }
    require(try loop.run(for: .seconds(60)) == .finished)
    require(log.all == ["pass", "block 2", "asked", "pass", "block 1", "asked", "pass", "block 0"])
  }

  static func delaysWaitForTheirModes() throws {
    let time = VirtualTime.install()
    let (loop, log) = (RunLoop.current, Bodies.Log())
    loop.makeCommon("shared")
    func ask(_ name: String, in modes: [RunLoop.Mode]) throws {
      try loop.perform(after: .seconds(1), in: modes) { log.append("\(name) in \(loop.currentMode!.rawValue)") }
    }
    try ask("private", in: ["private"])
    try ask("default", in: [.default])
    try ask("common", in: [.common])
    try ask("either", in: ["private", "shared"])
    try ask("late", in: ["private", "late"])
    require(try loop.run(in: "private", for: .seconds(10)) == .finished)
    require(log.all == ["private in private", "either in private", "late in private"])
    require(try loop.run(in: "shared", for: .seconds(10)) == .finished)
    require(log.all.last == "common in shared")
    require(try loop.run(in: "late", for: .seconds(10)) == .finished)
    let before = time.now
    require(try loop.run(in: .default, for: .seconds(10)) == .finished)
    require(log.all.count == 5 && log.all.last!.hasPrefix("default") && time.now == before)
  }

  static func blocksOfOneModeKeepTheirOrderAmongThoseOfOthers() throws {
    _ = VirtualTime.install()
    let (loop, log) = (RunLoop.current, Bodies.Log())
    let modes: [[RunLoop.Mode]] = [["a"], ["b"], ["a", "b"], ["c"], ["c", "a"]]
    for number in 0..<50 {
      let names = modes[(number * 7 + number / 3) % modes.count]
      try loop.perform(in: names) { log.append("\(loop.currentMode!.rawValue) \(number)") }
    }
    var seen = 0
    for mode: RunLoop.Mode in ["b", "a", "c"] {
      require(try loop.run(in: mode, for: .zero) == .timedOut)
      let ran = log.all[seen...]
      seen = log.all.count
      require(ran.allSatisfy { $0.hasPrefix(mode.rawValue + " ") } && !ran.isEmpty)
      let numbers = ran.map { Int($0.split(separator: " ")[1])! }
      require(numbers == numbers.sorted())
    }
    require(seen == 50)
  }

  static func onlyPerformWakesAndDelaysWakeByThemselves() throws {
    let time = VirtualTime.install()
    let (loop, log) = (RunLoop.current, Bodies.Log())
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
      require(cancelled?.cancel() == true)
    }
    require(try loop.run(for: .seconds(1000)) == .finished)
    other.join()
    require(log.all == ["enqueued at 2.0 seconds", "performed at 2.0 seconds", "delayed at 10.0 seconds"])
  }
}
