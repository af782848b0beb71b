import InMemoryLogging
import Logging
import RunLoopKit
import RunLoopTesting

let log = InMemoryLogHandler()  // that of a program would write to a file, or to a collector

try VirtualTime.run { time in  // no test has to wait
  let loop = RunLoop.current
  let logger = Logger(label: "loop") { _ in log }
  loop.reportSlowCallouts(longerThan: .milliseconds(100)) { slow in
    logger.warning(
      "a callout of a run loop is slow",
      metadata: [
        "callout": "\(slow.name)", "kind": "\(slow.kind)", "mode": "\(slow.mode.rawValue)",
        "milliseconds": "\(slow.duration / .milliseconds(1))",
      ])
  }
  loop.collectsStatistics = true

  for (name, taken) in [("quick", 100), ("slow", 250)] {
    let timer = RunLoop.Timer(fireDate: time.now) { _ in time.advance(by: .milliseconds(taken)) }
    timer.label = name
    try loop.add(timer)
  }
  try loop.run()
  let statistics = loop.statistics
  logger.info(
    "so far",
    metadata: [
      "passes": "\(statistics.passes)", "timersFired": "\(statistics.timersFired)",
      "busyMilliseconds": "\(statistics.busyTime / .milliseconds(1))",
    ])
}

for entry in log.entries {
  let metadata = entry.metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
  print(entry.level, "\(entry.message):", metadata.joined(separator: " "))
}
