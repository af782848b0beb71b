import Glibc
import RunLoopEvents
import RunLoopKit
import Testing

import class RunLoopKit.RunLoop

/// By pidfd: without, SIGCHLD would have to be blocked in all threads.
struct AsyncChildTests {
  private func spawn(_ script: String) throws -> Int32 {
    try RunLoop.ChildSource.spawn("/bin/sh", arguments: ["-c", script])
  }

  @Test func test_RLK_ASYNC_7_aTaskGetsTheExitOfAChild() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    #expect(try await loop.exit(of: try spawn("exit 3")) == .exited(code: 3))
    await #expect(throws: RunLoopError.self) { try await loop.exit(of: -1) }
    let child = try spawn("exec sleep 1000")
    await #expect(throws: RunLoopError.timedOut) { try await loop.exit(of: child, timeout: .milliseconds(1)) }
    let lost = Task { try await loop.exit(of: child) }
    await yieldUntil(loop.items(in: .default).contains { $0 is RunLoop.ChildSource })
    thread.stop(.now)
    await #expect(throws: RunLoopError.loopEnded) { try await lost.value }
    await #expect(throws: RunLoopError.loopEnded) { try await loop.exit(of: child) }
    try await thread.join()
    kill(child, SIGKILL)
    waitpid(child, nil, 0)
  }

  /// Who is told that the wait was called off finds the status with the kernel.
  @Test func test_RLK_ASYNC_9_aStatusThatWasTakenIsTold() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    for _ in 0..<300 {
      let child = try spawn("exec sleep 1000")
      let task = Task { try await loop.exit(of: child) }
      await yieldUntil(loop.items(in: .default).contains { $0 is RunLoop.ChildSource })
      kill(child, SIGKILL)
      await Task.yield()
      task.cancel()
      switch await task.result {
      case .success(let status): #expect(status == .signalled(.kill, coreDumped: false))
      case .failure: #expect(waitpid(child, nil, 0) == child)
      }
    }
    thread.stop()
    try await thread.join()
  }

  @Test func test_RLK_ASYNC_8_cancellingTheTaskMayEndTheChild() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    for ownership in [RunLoop.ChildSource.Ownership.borrowed, .killedWhenInvalidated] {
      let child = try spawn("exec sleep 1000")
      let task = Task { try await loop.exit(of: child, ownership: ownership) }
      await yieldUntil(loop.items(in: .default).contains { $0 is RunLoop.ChildSource })
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      // Ended, and waited for; or there.
      if case .borrowed = ownership {
        #expect(kill(child, SIGKILL) == 0)
        #expect(waitpid(child, nil, 0) == child)
      }
      #expect(waitpid(child, nil, WNOHANG) == -1)
    }
    // Cancelled before it is begun: no less.
    let child = try spawn("exec sleep 1000")
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await loop.exit(of: child, ownership: .killedWhenInvalidated)
    }
    late.cancel()
    await #expect(throws: CancellationError.self) { try await late.value }
    #expect(waitpid(child, nil, WNOHANG) == -1)
    thread.stop()
    try await thread.join()
  }

  @Test func test_RLK_ASYNC_8_soMayWhateverElseEndsTheWait() async throws {
    let thread = RunLoop.Thread(name: "async")
    try await thread.start()
    let loop = try #require(thread.loop)
    func hasEnded(_ child: Int32) -> Bool { waitpid(child, nil, WNOHANG) == -1 }
    let children = try (0..<3).map { _ in try spawn("exec sleep 1000") }
    defer { children.forEach(endChild) }
    await #expect(throws: RunLoopError.timedOut) {
      try await loop.exit(of: children[0], ownership: .killedWhenInvalidated, timeout: .milliseconds(1))
    }
    #expect(hasEnded(children[0]))
    #expect(!loop.items(in: .default).contains { $0 is RunLoop.ChildSource })
    let lost = Task { try await loop.exit(of: children[1], ownership: .killedWhenInvalidated) }
    await yieldUntil(loop.items(in: .default).contains { $0 is RunLoop.ChildSource })
    thread.stop(.now)
    await #expect(throws: RunLoopError.loopEnded) { try await lost.value }
    #expect(hasEnded(children[1]))
    await #expect(throws: RunLoopError.loopEnded) {
      try await loop.exit(of: children[2], ownership: .killedWhenInvalidated)
    }
    #expect(hasEnded(children[2]))
    try await thread.join()
  }

  /// The environment is asked once a process.
  @Test func test_RLK_CHILD_17_theEnvironmentForbidsPidfds() async {
    await #expect(processExitsWith: .success) {
      setenv("RUNLOOPKIT_NO_PIDFD", "", 1)
      let holds = try holdsPidfd()
      #expect(!holds)
    }
    await #expect(processExitsWith: .success) {
      unsetenv("RUNLOOPKIT_NO_PIDFD")
      let holds = try holdsPidfd()
      #expect(holds)
    }
  }
}

/// Of a source for a child.
private func holdsPidfd() throws -> Bool {
  let child = try RunLoop.ChildSource.spawn("/bin/sh", arguments: ["-c", "exec sleep 1000"])
  defer {
    kill(child, SIGKILL)
    waitpid(child, nil, 0)
  }
  let source = try RunLoop.ChildSource(processID: child) { _, _ in }
  return withExtendedLifetime(source) { openFiles().contains { $0.contains("pidfd") } }
}
