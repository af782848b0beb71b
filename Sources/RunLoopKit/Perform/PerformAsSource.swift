extension RunLoop {
  /// Runs `block` once on the loop's thread, in the first pass of one of the modes, and wakes the loop; for the run it is a source that
  /// was handled: one that shall return after a source does. What one thread asks of another's loop.
  ///
  /// It takes its place among the loop's blocks, in the order of queueing, and keeps its modes from being finished until it has
  /// run. Behind a block that runs the loop, and that was queued before that run began, it waits for the end of that run.
  /// In a run that returns after a source, the signalled sources that are ready at the same moment stay signalled for the next one.
  /// - Parameters:
  ///   - modes: Not empty (`.noMode`); `.common` stands for all common modes.
  ///   - block: Released right after it ran, or when the loop ends; with no lock held.
  ///   - onDrop: Called once, in place of the block, if the loop ends before the block's turn: on the ending thread, with no lock
  ///     held. Never called if this throws, and not in a child of fork(2).
  /// - Thread: Any. - Re-entry: Allowed. - Blocks: No. - Throws: `.loopEnded`, `.forked`, `.noMode`: neither of the two is called.
  /// - Complexity: O(1), amortized; one write(2) if the loop sleeps.
  /// - SeeAlso: `performSelector:onThread:withObject:waitUntilDone:modes:`; decision 0014.
  public func performAsSource(
    in modes: [Mode] = [.default], block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws(RunLoopError) {
    let posted = PostedBlock(HeldBlock(body: consume block), onDrop)
    try post(posted, modes) { [self] in
      noteSourcePerform()
      posted.run()
    }
  }

  /// As `perform(in:block:)`, and tells if the block will never run.
  ///
  /// - Parameters:
  ///   - mode: In which the block runs; `.common`: in every common mode.
  ///   - block: Called once, on the loop's thread, with no lock held.
  ///   - onDrop: Called once, in place of the block, if the loop ends before the block's turn: on the ending thread, with
  ///     no lock held. Never called if this throws, and not in a child of fork(2).
  public func perform(
    in mode: Mode = .default, block: sending @escaping () -> Void, onDrop: @escaping @Sendable () -> Void
  ) throws(RunLoopError) {
    try perform(in: [mode], block: block, onDrop: onDrop)
  }

  /// As `perform(in:block:)` with a list of modes, and tells if the block will never run: see `perform(in:block:onDrop:)`.
  public func perform(
    in modes: [Mode], block: sending @escaping () -> Void, onDrop: @escaping @Sendable () -> Void
  ) throws(RunLoopError) {
    let posted = PostedBlock(HeldBlock(body: consume block), onDrop)
    try post(posted, modes) { posted.run() }
  }

  private func post(_ posted: PostedBlock, _ modes: [Mode], _ body: sending @escaping () -> Void) throws(RunLoopError) {
    do throws(RunLoopError) {
      try perform(in: modes, block: body)
    } catch {
      posted.isRefused()
      throw error
    }
  }
}
