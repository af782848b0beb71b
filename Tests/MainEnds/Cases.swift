import Glibc
import RunLoopEvents
import RunLoopKit
import RunLoopTestSupport
import Synchronization

import class RunLoopKit.RunLoop

struct Failure: Error, CustomStringConvertible {
  let description: String
}

/// Throws with the line if the condition is false.
func expect(_ condition: Bool, _ text: String = "", line: UInt = #line) throws {
  if !condition { throw Failure(description: "line \(line) \(text)") }
}

func expectEnded(line: UInt = #line, _ body: () throws -> Void) throws {
  do {
    try body()
  } catch RunLoopError.loopEnded {
    return
  }
  throw Failure(description: "line \(line): no error")
}

/// On a thread of their own.
enum Cases {
  static func run(_ name: String) throws {
    switch name {
    case "after", "exit-after": try askedAfterwards()
    case "before", "exit-before": try askedBefore()
    case "while": try askedMeanwhile()
    case "idle": try endWithMembers(areWaiting: false)
    case "waiting": try endWithMembers(areWaiting: true)
    default: throw Failure(description: "no such case")
    }
  }

  private static func askedAfterwards() throws {
    mainThread.end()
    try expect(RunLoop.main.hasEnded)
    try expectEverythingEnds()
  }

  /// What another thread has added is dropped, what it waits for ends, and its jobs run.
  private static func askedBefore() throws {
    let loop = RunLoop.main
    let (log, waits, isThere) = (Log(), Event(), Event())
    try loop.perform(in: .default, block: { log.append("ran") }, onDrop: { log.append("dropped") })
    try loop.add(RunLoop.Timer(fireDate: .now) { _ in log.append("fired") })
    startThread {
      waits.come()
      do { try loop.performAndWait(timeout: .seconds(60)) {} } catch { log.append("performAndWait: \(isEnded(error))") }
      isThere.come()
    }
    Task(executorPreference: loop.executor) {
      log.append("job: \(nameOfThread())")
      isThere.come()
    }
    Task {
      do {
        try await Task.sleep(for: .seconds(3600), clock: loop.clock)
      } catch {
        log.append("sleep: \(isEnded(error))")
      }
      isThere.come()
    }
    // Without the pipe of the output: who reads that would wait for the child too if the case failed.
    let child = try RunLoop.ChildSource.spawn("sleep", arguments: ["3600"], actions: [.close(1), .close(2)])
    Task {
      await note(in: log, "exit") { _ = try await loop.exit(of: child, ownership: .killedWhenInvalidated) }
      isThere.come()
    }
    waits.wait()
    // A task that asks after the end gets its error elsewhere.
    while !loop.items().contains(where: { $0 is RunLoop.ChildSource }), log.all.isEmpty { sched_yield() }
    mainThread.end()
    for _ in 1...4 { isThere.wait() }
    let seen = log.all.sorted()
    let all = ["dropped", "exit: true", "job: rl-ended-loops", "performAndWait: true", "sleep: true"]
    try expect(seen == all, "\(seen)")
    try expectEverythingEnds()
  }

  /// The end comes between any two of these calls.
  private static func askedMeanwhile() throws {
    mainThread.letGo()
    try expectEverythingEnds()
    try expect(RunLoop.main.hasEnded)
  }

  /// One of each kind that may rest; with a date, and signalled, they wait for the loop.
  private static func endWithMembers(areWaiting: Bool) throws {
    let loop = RunLoop.main
    let date = areWaiting ? RunLoop.Instant.now.advanced(by: .seconds(3600)) : .distantFuture
    let timer = RunLoop.Timer(fireDate: date) { _ in }
    let source = RunLoop.Source { _ in }
    for item in [timer, source, RunLoop.Observer(.all) { _, _ in }] { try loop.add(item) }
    if areWaiting { source.signal() }
    mainThread.end()
    try expect(loop.hasEnded)
  }

  /// None of it waits for ever.
  private static func expectEverythingEnds(line: UInt = #line) throws {
    try expectEnded(line: line) { try RunLoop.main.performAndWait(timeout: .seconds(60)) {} }
    let (log, isOver) = (Log(), Event())
    Task {
      await note(in: log, "performAndWait") { try await RunLoop.main.performAndWait {} }
      await note(in: log, "sleep") { try await Task.sleep(for: .seconds(3600), clock: RunLoop.main.clock) }
      await note(in: log, "messages") { for try await _ in RunLoop.main.messages().messages {} }
      await Task(executorPreference: RunLoop.main.executor) { log.append("job: \(nameOfThread())") }.value
      isOver.come()
    }
    isOver.wait()
    let seen = log.all
    let all = ["performAndWait: true", "sleep: true", "messages: true", "job: rl-ended-loops"]
    try expect(seen == all, "\(seen)", line: line)
  }

  private static func note(in log: Log, _ name: String, _ body: @Sendable () async throws -> Void) async {
    do {
      try await body()
      log.append("\(name): no error")
    } catch {
      log.append("\(name): \(isEnded(error))")
    }
  }
}

/// With the text that names the usual reason.
private func isEnded(_ error: any Error) -> Bool {
  error as? RunLoopError == .loopEnded && "\(error)".hasPrefix("the main thread has ended")
}

/// Lines, in order.
final class Log: Sendable {
  private let entries = Mutex<[String]>([])

  func append(_ entry: String) { entries.withLock { $0.append(entry) } }
  var all: [String] { entries.withLock { $0 } }
}
