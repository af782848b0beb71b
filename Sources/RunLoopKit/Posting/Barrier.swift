extension RunLoop {
  /// Waits until every block that any thread queued earlier for the same modes has run, and makes visible to the caller
  /// what those blocks wrote [RLK-BARRIER-1].
  ///
  /// The call queues a block of its own and waits for it, as `performAndWait` does. If an earlier block runs the loop,
  /// the call's own block may run in that nested run, while the earlier block is still on the stack. The call does not
  /// wait for what blocks start with timers, sources or messages.
  ///
  /// ```swift
  /// let worker = RunLoop.Thread(name: "worker")
  /// try worker.start()
  /// try worker.perform { print("first") }  // prints first
  /// try worker.loop?.barrier()
  /// print("second")  // prints second
  /// ```
  /// - Parameters:
  ///   - modes: The call does not wait for blocks of other modes [RLK-BARRIER-3]. Without any, it waits for those of
  ///     the default mode.
  ///   - timeout: How long the call waits. With zero or less, it throws unless the blocks have run already. Nil means
  ///     no limit.
  /// - Throws: A `RunLoopError`: `.wouldDeadlock` on the loop's own thread; `.timedOut`; `.loopEnded` if the loop has
  ///   ended, or if it ends and releases the blocks before they have run [RLK-BARRIER-2]. `.forked`.
  /// - Thread: Any but the loop's own. - Blocks: Until the blocks have run. - Complexity: As for `performAndWait`.
  /// - SeeAlso: `dispatch_barrier_sync`.
  @available(*, noasync, message: "it blocks: in a task, or a main with a top-level await, await performAndWait {}")
  public func barrier(in modes: Mode..., timeout: Duration? = nil) throws {
    try barrier(in: NamedModes(modes), timeout: timeout)
  }

  /// As `barrier(in:timeout:)`, in the modes of a list. An empty list stands for the default mode [RLK-PERFORM-6].
  @available(*, noasync, message: "it blocks: in a task, or a main with a top-level await, await performAndWait {}")
  public func barrier(in modes: [Mode], timeout: Duration? = nil) throws {
    try barrier(in: NamedModes(modes), timeout: timeout)
  }

  private func barrier(in modes: NamedModes, timeout: Duration?) throws {
    if isCurrent {
      throw RunLoopError.wouldDeadlock(
        call: "barrier(in:timeout:)", "the loop's own thread would wait for itself")
    }
    try performAndWait(in: modes, timeout: timeout) {}
  }
}
