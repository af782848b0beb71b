extension RunLoop {
  /// Runs `block` on the loop's thread, in the next pass of the mode, and suspends the task until it has run.
  ///
  /// The counterpart of the `performAndWait` that blocks its thread. If the task runs on the loop's own thread, as the
  /// functions of a pinned actor do, the block runs at once, whatever the mode [RLK-ASYNC-1]. Otherwise it runs among
  /// the loop's blocks and counts as a source. The task continues at the first of these: the end of the block, the
  /// task's cancellation, the time limit, the end of the loop [RLK-ASYNC-2].
  /// - Parameters:
  ///   - modes: The block runs once, in the first of them that runs. Without any, it runs in the default mode. A loop
  ///     that runs in none of them never runs the block.
  ///   - timeout: How long the block may wait. With zero or less, it is withdrawn unless it has begun. Nil means no
  ///     limit.
  ///   - label: The block's name in reports of slow callouts.
  ///   - file: Named by these reports if there is no label, as `line`; leave both out.
  ///   - line: The line of the call.
  ///   - block: Called once, on the loop's thread. It must return: a thread that ends inside it ends the process with a
  ///     message, since the task would wait for ever. Released before the task goes on [RLK-ASYNC-3].
  /// - Returns: What the block returned.
  /// - Throws: What the block has thrown. `CancellationError` if the task was cancelled before the block began;
  ///   `RunLoopError.timedOut` if the time limit passed before that. In both cases the block will not run. Once it has
  ///   begun, the task waits for its end. `.loopEnded` if the loop has ended, or ends before the block runs; `.forked`.
  /// - Thread: Any. - Re-entry: Allowed. - Blocks: No. - Complexity: O(1), and O(blocks that wait) to withdraw it.
  nonisolated(nonsending) public func performAndWait<R: Sendable>(
    in modes: Mode..., timeout: Duration? = nil, label: String? = nil, file: StaticString = #fileID,
    line: UInt = #line, block: sending @escaping () throws -> R
  ) async throws -> R {
    try await perform(andAwaitIn: NamedModes(modes), timeout, BlockName(label, at: CallPlace(file, line)), block)
  }

  /// As `performAndWait(in:timeout:label:file:line:block:)`, in the modes of a list. An empty list stands for the
  /// default mode [RLK-PERFORM-6].
  nonisolated(nonsending) public func performAndWait<R: Sendable>(
    in modes: [Mode], timeout: Duration? = nil, label: String? = nil, file: StaticString = #fileID,
    line: UInt = #line, block: sending @escaping () throws -> R
  ) async throws -> R {
    try await perform(andAwaitIn: NamedModes(modes), timeout, BlockName(label, at: CallPlace(file, line)), block)
  }

  /// Inlined, so that it needs no asynchronous frame of its own.
  nonisolated(nonsending) private func perform<R: Sendable>(
    andAwaitIn modes: NamedModes, _ timeout: Duration?, _ name: BlockName, _ block: sending @escaping () throws -> R
  ) async throws -> R {
    let held = HeldCall(block)
    try checkUsable()
    if isCurrent {
      try Task.checkCancellation()
      return try callAwaited(CallOnStack()) { held.call() }.get()
    }
    return try await Resumption<R>.wait(timeout: timeout) { task in
      let call = AwaitedCall {
        task.settle(held.call())
      } whenLost: { [self] error in
        task.settle(.failure(error ?? endedError))
      }
      do throws(RunLoopError) {
        try queue(call, modes, name)
      } catch {
        call.forget()
        throw error
      }
      return { [self] in
        guard call.ticket.withdraw() else { return false }
        call.forget()
        removeBlock(call.ticket)
        return true
      }
    }
  }

  /// Runs `block` on the loop's thread after a delay, and suspends the task until it has run.
  ///
  /// As `perform(after:tolerance:in:target:key:file:line:block:onDrop:)`, with the block's result. Cancelling the task
  /// cancels the block [RLK-ASYNC-4].
  /// - Parameters:
  ///   - delay: Counts from now. With zero or less, the block runs as soon as the loop fires timers.
  ///   - tolerance: How much later the block may run, so that wakes can be shared.
  ///   - mode: `.common` stands for all common modes.
  ///   - file: Named by reports of a slow block, as `line`; leave both out.
  ///   - line: The line of the call.
  ///   - block: Called once, on the loop's thread; released after it ran, or when the task is cancelled. It must
  ///     return, as in `performAndWait(in:timeout:label:file:line:block:)` [RLK-ASYNC-10].
  /// - Returns: What the block returned.
  /// - Throws: What the block has thrown; `CancellationError` if the task was cancelled before the block began. A
  ///   `RunLoopError`: `.loopEnded` if the loop has ended, or ends before the block runs; `.forked`; `.system` if there
  ///   is no memory for the timer; `.invalidItem` if other code invalidates or removes the timer.
  /// - Thread: Any. - Blocks: No. - Complexity: O(log timers).
  nonisolated(nonsending) public func performAndWait<R: Sendable>(
    after delay: Duration, tolerance: Duration? = nil, in mode: Mode = .default,
    file: StaticString = #fileID, line: UInt = #line, block: sending @escaping () throws -> R
  ) async throws -> R {
    let held = HeldCall(block)
    return try await Resumption<R>.wait { task in
      let performed = try perform(
        after: delay, tolerance: tolerance, in: mode, file: file, line: line,
        block: { [self] in callAwaited(DelayedCallOnStack(task)) { task.settle(held.call()) } },
        onDrop: { [self] in task.lose(hasEnded ? endedError : .invalidItem("the timer of a delayed block")) })
      // Returns false, since this closure does not end the wait: cancelling calls `onDrop`, which does.
      return {
        performed.cancel()
        return false
      }
    }
  }
}

private final class DelayedCallOnStack<R: Sendable>: CallOnStack {
  private let task: Resumption<R>

  init(_ task: Resumption<R>) { self.task = task }

  override func isLeft() { task.settle(.failure(RunLoopError.blockLeft)) }
}

/// A block that is called at most once. The call releases it.
private final class HeldCall<R: Sendable>: @unchecked Sendable {
  private var body: (() throws -> R)?

  init(_ body: sending @escaping () throws -> R) { self.body = body }

  func call() -> Result<R, any Error> {
    // `body` is set, because a block is called only once.
    let body = self.body.take().unsafelyUnwrapped
    return Result { try body() }
  }
}
