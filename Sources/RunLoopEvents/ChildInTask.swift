import RunLoopKit
internal import Synchronization

extension RunLoop {
  /// Suspends the task until a process has ended, and returns how it ended.
  ///
  /// A `ChildSource` in the mode waits for the process, and takes its exit status.
  /// - Parameters:
  ///   - processID: At least 1.
  ///   - ownership: With `.killedWhenInvalidated` the source ends the process if the task is cancelled
  ///     [RLK-ASYNC-8], if the timeout has passed, and if the source cannot be added. The cancelling thread waits until
  ///     the kernel has ended the process.
  ///   - mode: A loop that does not run in this mode notices no end.
  ///   - timeout: How long the task waits; nil for no limit.
  /// - Throws: `CancellationError`; a `RunLoopError`: `.timedOut`; `.loopEnded` if the loop ends before the process
  ///   [RLK-ASYNC-7]; `.invalidItem` if other code invalidates or removes the source; what `ChildSource.init` and
  ///   `add(_:to:)` throw.
  /// - Thread: Any. - Blocks: No; see `ownership`. - Complexity: As a `ChildSource`.
  nonisolated(nonsending) public func exit(
    of processID: Int32, ownership: ChildSource.Ownership = .borrowed, in mode: Mode = .default,
    timeout: Duration? = nil
  ) async throws -> ExitStatus {
    try await Resumption<ExitStatus>.wait(timeout: timeout) { task in
      let turn = ChildTurn(task, on: self)
      let source = try ChildSource(processID: processID, ownership: ownership) { _, status in turn.come(status) }
      source.endsWithItsLoop = true
      do {
        try add(source, to: mode)
      } catch {
        source.invalidate()
        throw error
      }
      turn.isAwaited.store(true, ordering: .releasing)
      // Called when the task is cancelled or the time limit passes. If the source has taken a status by now, its
      // closure still delivers it. Otherwise the source releases the closure, which resumes the task. The reference is
      // weak: a loop that ends must release the source.
      return { [weak source] in
        source?.invalidate()
        return false
      }
    }
  }
}

/// Retained only by the source's closure. If the closure is released without having been called, the deinit resumes the
/// task with an error.
private final class ChildTurn: Sendable {
  private let task: Resumption<RunLoop.ExitStatus>
  private let loop: RunLoop

  /// True once the source is in its mode. Before that, `exit` throws the error, and the deinit reports none.
  let isAwaited = Atomic<Bool>(false)

  init(_ task: Resumption<RunLoop.ExitStatus>, on loop: RunLoop) {
    self.task = task
    self.loop = loop
  }

  func come(_ status: RunLoop.ExitStatus) { task.settle(.success(status)) }

  deinit {
    if isAwaited.load(ordering: .acquiring) { task.lose(loop.hasEnded ? loop.endedError : .invalidItem) }
  }
}
