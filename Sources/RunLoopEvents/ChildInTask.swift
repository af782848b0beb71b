import RunLoopKit
internal import Synchronization

extension RunLoop {
  /// Suspends the task until a process has ended, and answers how.
  ///
  /// The loop waits for the process by a `ChildSource` in the mode, and takes exit statuses as that does.
  /// - Parameters:
  ///   - processID: At least 1.
  ///   - ownership: `.killedWhenInvalidated`: the process ends if the task is cancelled [RLK-ASYNC-8], if the limit is
  ///     over, and if the source cannot be added. Whoever cancels the task waits until the kernel has ended it.
  ///   - mode: A loop that does not run in this mode notices no end.
  ///   - timeout: How long the task waits; nil: no limit.
  /// - Throws: `CancellationError`; a `RunLoopError`: `.timedOut`; `.loopEnded` if the loop ends before the process
  ///   [RLK-ASYNC-7]; `.invalidItem` if other code invalidates or removes the source; else as `ChildSource.init` and
  ///   `add(_:to:)`.
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
      // The loop alone holds it: with the loop, it goes. A status that it has taken by now still comes; without one,
      // the end of its closure tells so.
      return { [weak source] in
        source?.invalidate()
        return false
      }
    }
  }
}

/// Held by the source's closure alone: when that goes without having been called, nobody will call it.
private final class ChildTurn: Sendable {
  private let task: Resumption<RunLoop.ExitStatus>
  private let loop: RunLoop

  /// The source is in its mode: until then the caller reports what fails.
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
