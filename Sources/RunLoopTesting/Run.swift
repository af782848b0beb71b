import RunLoopKit

extension VirtualTime {
  /// Runs `body` in a new virtual time, on a new thread, and ends both. Any number of tests may call it at the same
  /// time.
  ///
  /// The body's thread is the first participant; `RunLoop.current` is its loop. When the body has returned, its loop
  /// ends as at the end of a thread. Then the clock stands still, and the other participants run until they would need
  /// the clock. A participant that is left after that is an error: stop and `join` each thread that the body starts.
  ///
  /// The calling task is suspended meanwhile, and blocks no thread of the runtime's pool. The body runs as part of the
  /// task: an `#expect` in the body belongs to the calling test.
  ///
  /// - Parameters:
  ///   - start: The monotonic clock's first value. The boot-time clock equals it until `suspend` is called. The wall
  ///     clock begins on a fixed day.
  ///   - tick: How far each reading moves the clock. Zero makes every date exact. A microsecond or less imitates a real
  ///     clock, which hardly ever shows the same time twice: what was due "now" a moment ago is in the past.
  ///   - seed: Chooses among the threads that could continue, and among jobs of one priority on a loop's executor
  ///     [RLK-KERNEL-8]. With a seed, tasks and actors that prefer no executor, and that participants start or resume,
  ///     also run in this virtual time, all on one thread. Without a seed the first in line continues, and such tasks
  ///     run outside of the virtual time.
  ///   - whenIdle: What to do when all participants wait without a deadline.
  ///   - whenStuck: What to do when no participant makes progress for some real time.
  ///   - body: Synchronous, because a loop belongs to a thread.
  /// - Returns: What the body returns.
  /// - Throws: What the body throws; else `ThreadsLeft`; `RunLoopError.system` if the system cannot make a thread.
  /// - Thread: Any. - Blocks: No; it suspends the task.
  public static func run<R: Sendable>(
    startingAt start: RunLoop.Instant = VirtualTime.defaultStart, tick: Duration = .zero, seed: UInt64? = nil,
    whenIdle: IdlePolicy = .waitForReality, whenStuck: StuckPolicy = .report(after: .seconds(10)),
    _ body: @escaping @Sendable (VirtualTime) throws -> R
  ) async throws -> R {
    let time = VirtualTime(start, tick, seed: seed, whenIdle, whenStuck)
    let thread = try OwnThread()
    defer { thread.end() }
    return try await withTaskExecutorPreference(thread) { try time.callAndEnd(body) }
  }

  /// As the other `run`, for callers that are no task: the calling thread waits, and keeps its own loop and clock. If
  /// the thread is a participant of another virtual time, it passes its turn on meanwhile.
  ///
  /// - Thread: Any.
  /// - Blocks: Until the body has returned and its loop has ended. When the call returns, nothing of the body is
  ///   retained.
  public static func run<R: Sendable>(
    startingAt start: RunLoop.Instant = VirtualTime.defaultStart, tick: Duration = .zero, seed: UInt64? = nil,
    whenIdle: IdlePolicy = .waitForReality, whenStuck: StuckPolicy = .report(after: .seconds(10)),
    _ body: @escaping @Sendable (VirtualTime) throws -> R
  ) throws -> R {
    let time = VirtualTime(start, tick, seed: seed, whenIdle, whenStuck)
    let thread = try OwnThread()
    defer { thread.end() }
    return try thread.call { try time.callAndEnd(body) }
  }

  /// The error of a `run` whose body has returned while some of its threads still take part.
  public struct ThreadsLeft: Error, CustomStringConvertible {
    /// Each thread's number and name, and what it waits for.
    public let threads: [String]

    /// A text that names them all, and the remedy.
    public var description: String {
      "VirtualTime.run: the body has returned, and \(threads.count) of its threads still take\(threads.count == 1 ? "s" : "") part: "
        + threads.joined(separator: "; ") + ". Stop and join what the body starts"
    }
  }

  /// The calling thread has no loop before the call and none after it.
  private func callAndEnd<R>(_ body: (VirtualTime) throws -> R) throws -> R {
    enter()
    var tasks: TaskThread?
    let result = Result {
      if seed != nil { tasks = try TaskThread(of: turns) }
      return try body(self)
    }
    enter()  // the body may have left
    RunLoop.endCurrent()
    if let tasks {
      turns.letOthersGoOn()  // the end of the loop has resumed the tasks that slept on it
      tasks.stop()
    }
    let left = turns.finish()
    let end = Result { if left.isEmpty { try tasks?.join() } }
    leave()
    let value = try result.get()
    try end.get()
    if !left.isEmpty { throw ThreadsLeft(threads: left) }
    return value
  }
}
