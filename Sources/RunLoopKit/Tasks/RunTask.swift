internal import Synchronization

extension RunLoop {
  /// Runs the loop in one mode until an async function has returned, and returns its result.
  ///
  /// This is the way from a synchronous `main` to async code:
  ///
  /// ```swift
  /// let sum = try RunLoop.main.run {
  ///   try await Task.sleep(for: .milliseconds(10))
  ///   return 40 + 2
  /// }
  /// print(sum)  // prints 42
  /// ```
  ///
  /// The function runs in a new task. Without an isolation the task prefers the loop's executor, so it runs on the
  /// loop's thread, except for code of other actors that it awaits [RLK-TASK-1]. In a `@MainActor` context it runs on
  /// the main actor, which the main loop serves. The loop serves items, blocks and the main dispatch queue meanwhile,
  /// and the run goes on even in an empty mode.
  ///
  /// If the function awaits what this run does not serve, such as the main actor in a mode that is not common, it waits
  /// for ever. When functions of the main dispatch queue, or jobs of the loop's executors, have waited for a second
  /// because the run does not serve them, the run reports them once (`diagnostics`) [RLK-TASK-5].
  ///
  /// A `stop()` cancels the task, and the call still waits until the function has returned: the function decides how it
  /// ends [RLK-TASK-2]. To wait for a condition instead, call `run(until:in:timeout:)`.
  /// - Parameters:
  ///   - mode: The mode whose members are served. The main actor and the main dispatch queue are served in common modes
  ///     only.
  ///   - body: Released when it has returned.
  /// - Returns: What `body` returned.
  /// - Throws: What `body` has thrown. A `RunLoopError`: `.wouldDeadlock` if the function could never run [RLK-TASK-3].
  ///   That is so in three cases: a run of this mode does not serve the main actor or the loop's executor that runs the
  ///   function; a job of the loop's executor makes the call; or the function runs on another actor, on which the
  ///   calling task may be running. `.loopEnded` if `RunLoop.Thread.stop(.now)` stops the thread; the task is then
  ///   cancelled, and continues on another thread [RLK-TASK-4]. `.commonModeNotRunnable` for `.common`. Otherwise the
  ///   errors of `run(in:for:returnAfterSourceHandled:)`; the task is cancelled then, too.
  /// - Thread: The loop's own.
  /// - Re-entry: Allowed from callouts.
  /// - Blocks: Until the function has returned.
  @available(*, noasync, message: "it blocks: in a task, or a main with a top-level await, await the function itself")
  public func run<R: Sendable>(
    in mode: Mode = .default, @_inheritActorContext _ body: sending @escaping @isolated(any) () async throws -> R
  ) throws -> R {
    try checkOwner("run(in:_:)")
    guard mode != .common else { throw RunLoopError.commonModeNotRunnable(call: "run(in:_:)") }
    let executor = isCommonMode(mode) ? self.executor : self.executor(in: mode)
    let body = body  // reading the isolation of the parameter itself crashes the compiler (6.3)
    try checkServed(body.isolation, executor, mode)
    let bell = Port(queueLimit: 1, onlyLoop: self, unchecked: { [unowned self] _, _ in awaitedBellRang() })
    bell.isHidden = true
    try add(bell, to: mode)
    defer { bell.invalidate() }
    let end = TaskEnd<R>(bell.mailbox)
    let task = Task(executorPreference: executor) {
      do { end.come(.success(try await body())) } catch { end.come(.failure(error)) }
    }
    let unserved = UnservedWork(in: mode, on: self)
    defer { unserved.end() }
    if let reason = serve(mode, until: AwaitedTask(end, bell, task, unserved, on: self)) {
      task.cancel()
      throw reason
    }
    // `serve` has returned no error, so the result is there.
    return try end.result.unsafelyUnwrapped.get()
  }

  /// Runs the mode until the function has returned. Returns the error if the run ends before.
  private func serve(_ mode: Mode, until awaited: AwaitedEnd) -> (any Error)? {
    while !awaited.isOver {
      guard isInThisProcess else { return RunLoopError.forked }
      guard !stops.isQuitting else { return RunLoopError.loopEnded }
      do {
        let result = try run(in: mode, limit: RunLimit(nil), false, awaiting: awaited)
        if result == .finished { return RunLoopError.invalidItem("the port of run(in:_:)") }
      } catch {
        return error
      }
    }
    return nil
  }

  /// Throws if a run of the mode would never run a function of this isolation.
  private func checkServed(_ isolation: (any Actor)?, _ executor: Executor, _ mode: Mode) throws(RunLoopError) {
    let serial = isolation?.unownedExecutor.asSerialExecutor()
    let own = serial as? Executor
    if isMain, isolation is MainActor, own == nil { try checkMainActorIsServed(by: serial, mode) }
    let served = own.flatMap { $0.isOf(self) ? $0 : nil }
    if let served, !served.serves(mode, isCommon: isCommonMode(mode)) {
      throw .wouldDeadlock(
        call: "run(in:_:)", "the function's actor is pinned to an executor that is not served in mode \"\(mode)\"")
    }
    if executor.isRunningJob || served?.isRunningJob == true {
      throw .wouldDeadlock(
        call: "run(in:_:)", "a job of the loop's executor makes the call, and no other job runs before it ends")
    }
    if own == nil, let isolation, !(isolation is MainActor), withUnsafeCurrentTask(body: { $0 != nil }) {
      throw .wouldDeadlock(
        call: "run(in:_:)", "the function waits for an actor, one of whose functions may be making the call")
    }
  }
}

extension RunLoop {
  private func checkMainActorIsServed(by executor: (any SerialExecutor)?, _ mode: Mode) throws(RunLoopError) {
    if executor is any HostedMainActor {
      throw .wouldDeadlock(
        call: "run(in:_:)", "the function waits for the main actor, whose jobs are run by a host, and by no run loop")
    }
    if leavesOutMainQueue(in: mode) {
      throw .wouldDeadlock(
        call: "run(in:_:)",
        "the function waits for the main actor, which is not served in mode \"\(mode)\" here: "
          + Self.wayToServeMainQueue)
    }
  }
}

/// The result of the task. When it comes, a message to `bell`, a port of the run, wakes the run.
private final class TaskEnd<R: Sendable>: @unchecked Sendable {
  private let bell: Mailbox
  private let lock = Lock()
  /// Guarded by `lock`.
  private var answer: Result<R, any Error>?
  private let isHere = Atomic<Bool>(false)

  init(_ bell: Mailbox) { self.bell = bell }

  var hasCome: Bool { isHere.load(ordering: .acquiring) }

  func come(_ result: Result<R, any Error>) {
    lock.withLock { answer = result }
    isHere.store(true, ordering: .releasing)
    _ = bell.accept(RunLoop.Message())
  }

  var result: Result<R, any Error>? { lock.withLock { answer } }
}

/// What the run waits for. Used by the loop's thread only.
private final class AwaitedTask<R: Sendable>: AwaitedEnd {
  private let end: TaskEnd<R>
  private let bell: RunLoop.Port
  private let task: Task<Void, Never>
  private let unserved: UnservedWork
  private unowned let loop: RunLoop

  init(
    _ end: TaskEnd<R>, _ bell: RunLoop.Port, _ task: Task<Void, Never>, _ unserved: UnservedWork, on loop: RunLoop
  ) {
    self.end = end
    self.bell = bell
    self.task = task
    self.unserved = unserved
    self.loop = loop
  }

  override var isOver: Bool { end.hasCome }

  override func check() -> Bool {
    unserved.check()
    return isOver
  }

  /// The run goes on until the function has returned, unless the thread ends.
  override func isStopped() -> Bool {
    task.cancel()
    return loop.stops.isQuitting
  }

  override func isLeft() {
    task.cancel()
    bell.invalidate()
    unserved.end()
  }
}
