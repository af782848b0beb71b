import RunLoopKit

extension VirtualTime {
  /// Runs `body` in a virtual time of its own, on a thread of its own, and ends both. For tests, any number of them at
  /// once.
  ///
  /// The body's thread is the first participant; `RunLoop.current` is its loop. When the body has returned, its loop is
  /// ended as by the thread's end, and those who can go on without the clock go on. A participant that is left then is
  /// an error: stop and `join` each thread that the body starts. The clock stands still for what is left.
  ///
  /// The calling task is suspended meanwhile, no thread of its pool is blocked, and the body is the task's: an
  /// `#expect` in it belongs to the test that calls.
  ///
  /// - Parameters:
  ///   - start: The monotonic clock's first value. The boot-time clock shows the same until `suspend`, the wall clock a
  ///     fixed day.
  ///   - tick: How far each reading moves the clock. Zero makes every date exact; a real clock hardly ever shows the
  ///     same time twice, and a microsecond or less imitates that: what was due "now" a moment ago is in the past.
  ///   - seed: Chooses who goes on where several could: among threads, and among jobs of one priority on a loop's
  ///     executor [RLK-KERNEL-8]. Tasks and actors that prefer no executor, and that participants start or resume, run
  ///     in this virtual time then, too, all on one thread. Nil: who came first goes on, and those tasks are reality.
  ///   - whenIdle: What to do when nothing can ever happen by itself.
  ///   - whenStuck: What to do when nothing goes on for a while of the machine's time.
  ///   - body: Synchronous: a loop belongs to a thread.
  /// - Returns: What the body returns.
  /// - Throws: What the body throws; else `ThreadsLeft`; `RunLoopError.system` if the system makes no thread.
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

  /// The same for callers that are no task: the calling thread waits, with whatever loop and clock it has. A
  /// participant of another virtual time passes its turn on meanwhile.
  ///
  /// - Thread: Any.
  /// - Blocks: Until the body has returned and its loop has ended. When it returns, nothing is held of the body.
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

  /// Participants of a `run` that its body has left behind.
  public struct ThreadsLeft: Error, CustomStringConvertible {
    /// Each thread's number and name, and what it waits for.
    public let threads: [String]

    /// All of them, and the remedy.
    public var description: String {
      "VirtualTime.run: the body has returned, and \(threads.count) of its threads still take\(threads.count == 1 ? "s" : "") part: "
        + threads.joined(separator: "; ") + ". Stop and join what the body starts"
    }
  }

  /// On a thread without a loop, which has none after it.
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
      turns.letOthersGoOn()  // the tasks that have slept on that loop
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
