internal import Synchronization

extension RunLoop {
  /// Runs `block` once on the loop's thread, in the next pass of the mode, and counts as a source that was handled.
  ///
  /// The call wakes the loop. A run with `returnAfterSourceHandled` returns after the block [RLK-PERFORM-2]. The block
  /// runs among the loop's blocks, in the order of queueing, and keeps its modes from being empty until it has run
  /// [RLK-PERFORM-5]. If the loop has taken this block from the queue together with an earlier block, and that one runs
  /// the loop, this block runs after the nested run. A run that returns after the block does not perform the sources
  /// that are signalled at that time: they stay signalled for the next run.
  /// - Parameters:
  ///   - modes: The block runs once, in the first of them that runs. Without any, it runs in the default mode.
  ///     `.common` stands for every mode that is common when the loop drains the queue.
  ///   - label: The block's name in reports of slow callouts.
  ///   - file: Named by these reports if there is no label, as `line`; leave both out.
  ///   - line: The line of the call.
  ///   - block: Released right after it ran, or when the loop ends; with no lock held.
  ///   - onDrop: Called once, instead of the block, if the loop ends before it runs the block: on the ending thread,
  ///     with no lock held. Not called if this call throws, nor in a child of fork(2).
  /// - Thread: Any. - Re-entry: Allowed. - Blocks: No.
  /// - Throws: A `RunLoopError`: `.loopEnded`, `.forked`; neither closure is called then.
  /// - Complexity: O(1), amortized; one write(2) if the loop sleeps.
  /// - SeeAlso: `performSelector:onThread:withObject:waitUntilDone:modes:`; without `modes:` that uses the common
  ///   modes, as `in: .common` does; decision 0014.
  public func performAsSource(
    in modes: Mode..., label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
    block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws {
    let name = BlockName(label, at: CallPlace(file, line))
    try performAsSource(in: NamedModes(modes), name, block: block, onDrop: onDrop)
  }

  /// As `performAsSource(in:label:file:line:block:onDrop:)`, in the modes of a list. An empty list stands for the
  /// default mode [RLK-PERFORM-6].
  public func performAsSource(
    in modes: [Mode], label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
    block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws {
    let name = BlockName(label, at: CallPlace(file, line))
    try performAsSource(in: NamedModes(modes), name, block: block, onDrop: onDrop)
  }

  /// As `performAsSource(in:label:file:line:block:onDrop:)`, in named modes, for a block without a name.
  package func performAsSource(
    in modes: NamedModes, block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws(RunLoopError) {
    try performAsSource(in: modes, BlockName(nil), block: block, onDrop: onDrop)
  }

  private func performAsSource(
    in modes: NamedModes, _ name: BlockName, block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)?
  ) throws(RunLoopError) {
    let posted = PostedBlock(HeldBlock(body: consume block), onDrop)
    try post(posted, in: modes) { [self] in
      noteSourcePerform()
      posted.run()
      hasPerformed(name)
    }
  }

  func post(
    _ posted: PostedBlock, in modes: NamedModes, _ body: sending @escaping () -> Void
  ) throws(RunLoopError) {
    do throws(RunLoopError) {
      try perform(in: modes, block: body)
    } catch {
      posted.isRefused()
      throw error
    }
  }

  /// As `enqueue(in:_:block:)`, but the block counts as a source. If the call throws, the block stays with the caller.
  func enqueueAsSource(in mode: Mode, taking block: inout HeldBlock?) throws(RunLoopError) {
    guard isInThisProcess else { throw .forked }
    lock.lock()
    defer { lock.unlock() }
    guard !hasEnded else { throw endedError }
    let mode = state.makeMode(mode)
    // `take` leaves the caller no reference, so the block is released where it runs. The caller has set `block`.
    let body = block.take().unsafelyUnwrapped.body
    let performed = { [self] in
      noteSourcePerform()
      body()
    }
    state.blocks.append(QueuedBlock(mode: mode, others: nil, body: performed))
    queuedBlocks.store(1, ordering: .releasing)
  }

  /// Called when a block begins that counts as a source. - Thread: The loop's own.
  func noteSourcePerform() { innermostRun.notePerform() }
}
