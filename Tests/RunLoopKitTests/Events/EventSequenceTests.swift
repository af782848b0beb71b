import Glibc
import RunLoopEvents
import RunLoopKit
import Testing
import XCTest

import class RunLoopKit.RunLoop

private func spawn(_ command: String) throws -> Int32 {
  try RunLoop.ChildSource.spawn("/bin/sh", arguments: ["-c", command])
}

@Suite struct EventSequenceTests {
  @Test func test_RLK_STREAM_9_theSequenceEndsAfterTheLastChild() async throws {
    let thread = RunLoop.Thread(name: "stream")
    try await thread.start()
    let loop = try #require(thread.loop)
    // Each lives until the end of the one before it was received.
    let children = try (0..<5).map { _ in try spawn("exec sleep 1000") }
    var ended: [Int32] = []
    kill(children[0], SIGKILL)
    for try await (processID, status) in try loop.exits(of: children) {
      if status == .signalled(.kill, coreDumped: false) { ended.append(processID) }
      if ended.count < children.count { kill(children[ended.count], SIGKILL) }
    }
    #expect(ended == children)
    for child in children { kill(child, SIGKILL) }  // if the sequence has ended too early
    // All together: what comes while the task is busy is kept.
    let short = try (0..<5).map { try spawn("exit \($0)") }
    var codes: [Int32: RunLoop.ExitStatus] = [:]
    let exits = try loop.exits(of: short)
    await yieldUntil(!loop.items(in: .default).contains { $0 is RunLoop.ChildSource })
    for try await (processID, status) in exits { codes[processID] = status }
    #expect(codes.count == 5)
    for (code, child) in short.enumerated() { #expect(codes[child] == .exited(code: Int32(code))) }
    for try await _ in try loop.exits(of: []) { Issue.record("of no process") }
    // Whoever ends the sequence ends its children.
    let long = try spawn("exec sleep 1000")
    let task = Task { for try await _ in try loop.exits(of: [long], ownership: .killedWhenInvalidated) {} }
    await yieldUntil(loop.items(in: .default).contains { $0 is RunLoop.ChildSource })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(waitpid(long, nil, WNOHANG) == -1)
    // So does a call that throws, of those that it has made a source for.
    let last = try spawn("exec sleep 1000")
    #expect(throws: RunLoopError.system(EINVAL)) {
      try loop.exits(of: [last, -1], ownership: .killedWhenInvalidated)
    }
    #expect(waitpid(last, nil, WNOHANG) == -1)
    thread.stop()
    try await thread.join()
  }

  @Test func test_RLK_STREAM_9_theSequenceEndsWithTheFolder() async throws {
    let thread = RunLoop.Thread(name: "stream")
    try await thread.start()
    let loop = try #require(thread.loop)
    var template = Array("/tmp/rlk-stream-XXXXXX".utf8CString)
    let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    let events = try loop.fileEvents(at: folder, [.created, .deleted, .targetDeleted])
    // While no task waits, they wait with the kernel.
    for name in ["a", "b", "c"] { #expect(mkdir("\(folder)/\(name)", 0o700) == 0) }
    var seen: [String] = []
    for try await event in events {
      seen.append(event.description)
      if seen.count == 1 { for name in ["a", "b", "c"] { #expect(rmdir("\(folder)/\(name)") == 0) } }
      if seen.count == 6 { #expect(rmdir(folder) == 0) }
    }
    #expect(
      seen == [
        "created a", "created b", "created c", "deleted a", "deleted b", "deleted c", "targetDeleted", "ended",
      ])
    thread.stop()
    try await thread.join()
  }
}

extension EventSequenceTests {
  /// Who asks for a mode waits in that, and in no other.
  @Test func test_RLK_STREAM_9_sourcesAreInTheModeThatWasAskedFor() async throws {
    let thread = RunLoop.Thread(name: "stream")
    try await thread.start()
    let loop = try #require(thread.loop)
    func hasSource(in mode: RunLoop.Mode) -> Bool {
      loop.items(in: mode).contains { $0 is RunLoop.ChildSource || $0 is RunLoop.FileWatch }
    }
    let child = try spawn("exec sleep 1000")
    let exits = try loop.exits(of: [child], in: "exits")
    #expect(hasSource(in: "exits"))
    let watching = Task { for try await _ in try loop.fileEvents(at: "/tmp", .targetDeleted, in: "files") {} }
    let waiting = Task { try await loop.exit(of: child, in: "exit") }
    await yieldUntil(hasSource(in: "files") && hasSource(in: "exit"))
    #expect(!hasSource(in: .default))
    watching.cancel()
    waiting.cancel()
    _ = await (watching.result, waiting.result)
    withExtendedLifetime(exits) {}
    kill(child, SIGKILL)
    waitpid(child, nil, 0)
    thread.stop()
    try await thread.join()
  }
}

extension EventSequenceTests {
  /// What a sequence owns ends with its loop, though the sequence is there.
  @Test func test_RLK_STREAM_9_childrenEndWithTheLoop() async throws {
    let thread = RunLoop.Thread(name: "stream")
    try await thread.start()
    let loop = try #require(thread.loop)
    let children = try (0..<2).map { _ in try spawn("exec sleep 1000") }
    defer { children.forEach(endChild) }
    let owning = try loop.exits(of: [children[0]], ownership: .killedWhenInvalidated)
    let borrowing = try loop.exits(of: [children[1]])
    thread.stop(.now)
    try await thread.join()
    #expect(waitpid(children[0], nil, WNOHANG) == -1)
    #expect(waitpid(children[1], nil, WNOHANG) == 0)
    for exits in [owning, borrowing] {
      await #expect(throws: RunLoopError.loopEnded) { for try await _ in exits {} }
    }
  }

  /// The source has what was asked for. It stays in its mode, and keeps no run going.
  @Test func test_RLK_STREAM_9_aSequenceOfPressure() async throws {
    let thread = RunLoop.Thread(name: "stream")
    try await thread.start()
    let (loop, file) = (try #require(thread.loop), PressureFile())
    let events = try loop.memoryPressure(
      .full, longerThan: .milliseconds(5), within: .seconds(2), path: file.path, in: "pressure")
    #expect(file.takeTrigger() == "full 5000 2000000\0")
    #expect(loop.items(in: "pressure").contains { $0 is RunLoop.MemoryPressure })
    #expect(loop.isEmpty(in: "pressure"))
    thread.stop(.now)
    await #expect(throws: RunLoopError.loopEnded) { for try await _ in events {} }
    try await thread.join()
  }
}

/// In processes of their own, whose masks are theirs.
final class SignalSequenceTests: XCTestCase {
  func test_RLK_STREAM_2_signalsWaitForABusyTask() {
    inChild { check in
      let loop = RunLoop.current
      try RunLoop.Signal.block(.user1, .user2, .terminate)
      let signals = try loop.signals(.user1, .user2, .terminate)
      for signal in [RunLoop.Signal.user1, .user1, .user2] { _ = kill(getpid(), signal.rawValue) }
      let seen = try loop.run {
        var seen: [RunLoop.Signal] = []
        for try await info in signals {
          seen.append(info.signal)
          if seen.count == 2 { _ = kill(getpid(), SIGTERM) }
          if info.signal == .terminate { break }
        }
        return seen
      }
      check.equal(seen, [.user1, .user2, .terminate])
    }
  }

  func test_RLK_STREAM_2_signalsComeInTheModeThatWasAskedFor() {
    inChild { check in
      let loop = RunLoop.current
      try RunLoop.Signal.block(.user1)
      let signals = try loop.signals(.user1, in: "signals")
      _ = kill(getpid(), SIGUSR1)
      let seen = try loop.run(in: "signals") { () -> RunLoop.Signal? in
        for try await info in signals { return info.signal }
        return nil
      }
      check.equal(seen, .user1)
    }
  }
}
