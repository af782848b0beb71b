import Glibc
import RunLoopKit
import RunLoopTesting
import Testing

import class RunLoopKit.RunLoop

private actor Pinned {
  nonisolated let executor: RunLoop.Executor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ executor: RunLoop.Executor) { self.executor = executor }

  /// Optimised code does not go to an actor for nothing.
  func hit() { hits += 1 }
  private var hits = 0
}

/// The lines on standard error with this text while `body` runs; other tests may write others. One call at a time.
private func linesOnStandardError(with text: String, _ body: () throws -> Void) rethrows -> [String] {
  var path = Array("/tmp/stderr-XXXXXX".utf8CString)
  let (file, kept) = (mkstemp(&path), dup(STDERR_FILENO))
  unlink(path)
  dup2(file, STDERR_FILENO)
  defer {
    close(kept)
    close(file)
  }
  do {
    defer { dup2(kept, STDERR_FILENO) }
    try body()
  }
  var bytes = [UInt8](repeating: 0, count: 65536)
  let count = pread(file, &bytes, bytes.count, 0)
  return String(decoding: bytes[..<max(count, 0)], as: UTF8.self).split(separator: "\n").map(String.init)
    .filter { $0.contains(text) }
}

/// A run of an async function that awaits what the run does not serve, in virtual time. The main dispatch queue's part is
/// in RunTaskTests: it needs the main thread.
@Suite(.serialized) struct UnservedWorkTests {
  /// What is said while such a job waits so long in a mode of this name.
  private func lines(in mode: RunLoop.Mode, for wait: Duration) async throws -> [String] {
    let log = Log()
    try await VirtualTime.run { (time: VirtualTime) throws in
      let (loop, start) = (RunLoop.current, time.now)
      let actor = Pinned(loop.executor)
      // At last a nested run serves the actor.
      try loop.add(RunLoop.Timer(fireDate: start.advanced(by: wait)) { _ in _ = try? loop.run(for: .zero) }, to: mode)
      let lines = try linesOnStandardError(with: "\"\(mode)\"") { try loop.run(in: mode) { await actor.hit() } }
      #expect(start.duration(to: time.now) == wait)
      #expect(loop.isEmpty(in: mode))
      #expect(loop.nextFireDate(in: mode) == nil)  // what would have told it is gone, too
      for line in lines { log.append(line) }
    }
    return log.all
  }

  @Test func test_RLK_TASK_5_jobsThatWaitForASecondAreReported() async throws {
    let lines = try await lines(in: "unserved", for: .seconds(5))
    #expect(
      lines == [
        "RunLoopKit: run(in:_:) runs mode \"unserved\", and for a second jobs of the executor of "
          + "\"\(RunLoop.Mode.common)\" have waited, which it does not serve: if the function of the run awaits them, it "
          + "waits for ever; run one of its modes, and not inside of one of its jobs"
      ])
  }

  @Test func test_RLK_TASK_5_whatIsServedInTimeIsNot() async throws {
    #expect(try await lines(in: "served in time", for: .milliseconds(999)) == [])
  }

  /// Nor if the run goes on after it.
  @Test func test_RLK_TASK_5_whatWasServedIsNotToldOfLater() async throws {
    try await VirtualTime.run { (time: VirtualTime) throws in
      let (loop, date) = (RunLoop.current, time.now.advanced(by: .seconds(0.5)))
      let actor = Pinned(loop.executor)
      try loop.add(RunLoop.Timer(fireDate: date) { _ in _ = try? loop.run(for: .zero) }, to: "goes on")
      let lines = try linesOnStandardError(with: "\"goes on\"") {
        try loop.run(in: "goes on") {
          await actor.hit()
          try await Task.sleep(for: .seconds(5), clock: loop.clock(in: "goes on"))
        }
      }
      #expect(lines == [])
    }
  }

  /// A later one is found, too, and the time between is no reason to wake.
  @Test func test_RLK_TASK_5_alsoWhenOthersHaveBeenServed() async throws {
    try await VirtualTime.run { (time: VirtualTime) throws in
      let (loop, start) = (RunLoop.current, time.now)
      let actor = Pinned(loop.executor)
      for seconds in [0.5, 105] {
        let date = start.advanced(by: .seconds(seconds))
        try loop.add(RunLoop.Timer(fireDate: date) { _ in _ = try? loop.run(for: .zero) }, to: "late")
      }
      loop.collectsStatistics = true
      let lines = try linesOnStandardError(with: "\"late\"") {
        try loop.run(in: "late") {
          await actor.hit()
          try await Task.sleep(for: .seconds(100), clock: loop.clock(in: "late"))
          await actor.hit()
        }
      }
      #expect(lines.count == 1)
      #expect(loop.statistics.sleeps < 12)
    }
  }
}
