extension RunLoop {
  /// Why `run(until:in:timeout:)` has ended.
  public enum ConditionResult: Sendable {
    /// The condition is true.
    case met
    /// The time limit has passed first.
    case timedOut
    /// `stop()` was called first.
    case stopped
    /// The mode has nothing to wait for, so nothing in it could make the condition true.
    case finished
  }

  /// Runs the loop in one mode until a condition is true.
  ///
  /// `try loop.run(until: isDone)` replaces `while !isDone { try loop.run(for: .milliseconds(10)) }`. The loop sleeps
  /// until an event of the mode or a wake-up comes, and does not wake up for the condition alone [RLK-UNTIL-2].
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// var isDone = false
  /// try loop.assumeOnLoop { local in
  ///   try local.timer(after: .milliseconds(10)) { _ in isDone = true }
  /// }
  /// print(try loop.run(until: isDone, timeout: .seconds(5)))  // prints met
  /// ```
  /// - Parameters:
  ///   - condition: Evaluated on this thread, with no lock held, before the first pass and after each one
  ///     [RLK-UNTIL-1], and once more if the run has ended for another reason. It should be cheap. If blocks are queued
  ///     when the run evaluates the condition, the run evaluates it again after them without a sleep, even if nothing
  ///     has woken the loop for the blocks [RLK-UNTIL-6]. If another thread makes the condition true, the run notices
  ///     that at the next event, or at once if the thread then calls `wakeUp()` [RLK-UNTIL-3]. An observer of
  ///     before-waiting, or an idle block, must call `wakeUp()` too if it makes the condition true.
  ///   - mode: The mode whose members are served.
  ///   - timeout: How long the run may take. Zero or less means one pass that does not wait, nil no limit.
  /// - Returns: `.met` whenever the condition was true in the end, even if the run was stopped or the limit was over in
  ///   the same pass [RLK-UNTIL-4].
  /// - Thread: The loop's own.
  /// - Re-entry: Allowed, also in `condition` [RLK-UNTIL-5].
  /// - Blocks: While it runs the loop.
  /// - Throws: As `run(in:for:returnAfterSourceHandled:)`; `.commonModeNotRunnable` for `.common`.
  @available(*, noasync, message: "it blocks: call it, or run { await ... }, in a main without a top-level await")
  public func run(
    until condition: @autoclosure () -> Bool, in mode: Mode = .default, timeout: Duration? = nil
  ) throws -> ConditionResult {
    try checkOwner("run(until:in:timeout:)")
    guard mode != .common else { throw RunLoopError.commonModeNotRunnable(call: "run(until:in:timeout:)") }
    let result = withoutActuallyEscaping(condition) { condition -> Result<ConditionResult, any Error> in
      let awaited = AwaitedCondition(condition, in: mode, on: self)
      do {
        try makeWakeWord()
        if awaited.ask() { return .success(.met) }
        let result = try run(in: mode, limit: RunLimit(timeout), false, awaiting: awaited)
        return .success(awaited.ask() ? .met : ConditionResult(result))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

extension RunLoop {
  /// Makes the wakeup port, which a loop that has never run lacks. A wake that comes after this reaches the run that
  /// follows.
  private func makeWakeWord() throws(RunLoopError) {
    try lock.withLock { () throws(RunLoopError) in _ = try wakes.word.make() }
  }
}

extension RunLoop.ConditionResult {
  /// The result of a run that has ended before the condition was true.
  fileprivate init(_ result: RunLoop.RunResult) {
    switch result {
    case .finished: self = .finished
    case .timedOut: self = .timedOut
    case .stopped, .handledSource: self = .stopped
    }
  }
}

/// A condition, which is evaluated once a pass until it is true.
private final class AwaitedCondition: AwaitedEnd {
  private let condition: () -> Bool
  private let mode: RunLoop.Mode
  private unowned let loop: RunLoop
  private var isMet = false

  init(_ condition: @escaping () -> Bool, in mode: RunLoop.Mode, on loop: RunLoop) {
    self.condition = condition
    self.mode = mode
    self.loop = loop
    super.init(isCondition: true)
  }

  override var isOver: Bool { isMet }

  override func check() -> Bool { ask() }

  /// Evaluates the condition. If it is false, interrupts the loop in two cases, so that the next wait polls instead of
  /// sleeping. First, the condition has run the loop: that run may have taken the wake of a later change. Second,
  /// blocks are queued: the loop runs them before the wait, and they may make the condition true.
  func ask() -> Bool {
    guard !isMet else { return true }
    let lastRun = loop.owner.runs
    let at = loop.innermostRun.state.at
    __RUNLOOPKIT_IS_ASKING_A_CONDITION__(condition, &isMet)
    loop.endRuns(insideOf: at)
    if !isMet, loop.owner.runs != lastRun { loop.wakes.word.interrupt() }
    if !isMet, hasBlocks { loop.wakes.word.interrupt() }
    return isMet
  }

  private var hasBlocks: Bool {
    loop.lock.withLock { loop.state.mode(mode).map { loop.state.hasBlocks(for: $0) } ?? false }
  }
}
