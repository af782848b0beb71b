internal import Synchronization

extension RunLoop {
  /// Runs `block` once on the loop's thread, in the first pass of the mode, and wakes the loop.
  ///
  /// A block is no source: a run that shall return after a source was handled goes on (`CFRunLoopPerformBlock` and a wake). What
  /// ends such a run: `performAsSource(in:block:onDrop:)`, `performAndWait`, `RunLoop.Thread.perform`.
  ///
  /// Blocks run in the order of queueing. A block queued by a block waits for the next drain. The block is released right
  /// after it ran, or, not having run, when the loop ends; with no lock held. The mode is made if need be.
  /// - Parameters:
  ///   - mode: `.common` stands for every mode that is common when the block's turn comes.
  ///   - block: Takes over what it captures. If the caller goes on using that, for instance a `Mutex`, write
  ///     `{ @Sendable in … }`: then the compiler accepts what is `Sendable`.
  /// - Thread: Any. - Re-entry: Allowed. - Blocks: No. - Throws: `.loopEnded`, `.forked`; the caller's block is released then.
  /// - Complexity: O(1), amortized; one write(2) if the loop sleeps.
  public func perform(in mode: Mode = .default, block: sending @escaping () -> Void) throws(RunLoopError) {
    try append(consume block, mode, [])
    wakeWord.signal()
  }

  /// As `perform(in:block:)`, in the first pass whose mode is among these; once in all.
  public func perform(
    in mode: Mode, _ second: Mode, _ more: Mode..., block: sending @escaping () -> Void
  ) throws(RunLoopError) {
    try append(consume block, mode, [second] + more)
    wakeWord.signal()
  }

  /// As `perform(in:block:)`, with a list of modes, which must not be empty (`.noMode`).
  public func perform(in modes: [Mode], block: sending @escaping () -> Void) throws(RunLoopError) {
    guard let first = modes.first else { throw .noMode }
    try append(consume block, first, modes.dropFirst())
    wakeWord.signal()
  }

  /// As `perform(in:block:)`, but does not wake the loop: a sleeping one runs the block when something else has woken it.
  /// - SeeAlso: `CFRunLoopPerformBlock`.
  public func enqueue(in mode: Mode = .default, block: sending @escaping () -> Void) throws(RunLoopError) {
    try append(consume block, mode, [])
  }

  /// As `enqueue(in:block:)`, with a list of modes, which must not be empty (`.noMode`).
  public func enqueue(in modes: [Mode], block: sending @escaping () -> Void) throws(RunLoopError) {
    guard let first = modes.first else { throw .noMode }
    try append(consume block, first, modes.dropFirst())
  }

  /// As `enqueue(in:block:)`, and counts as a source; a block that is refused stays with the caller.
  func enqueueAsSource(in mode: Mode, taking block: inout HeldBlock?) throws(RunLoopError) {
    guard isInThisProcess else { throw .forked }
    lock.lock()
    defer { lock.unlock() }
    guard !hasEnded else { throw .loopEnded }
    let mode = state.makeMode(mode)
    // Nothing of it stays here: it is to be released where it runs.
    // The caller puts a block in; nobody else has taken it, since each refusal above throws.
    let body = block.take().unsafelyUnwrapped.body
    let performed = { [self] in
      noteSourcePerform()
      body()
    }
    state.blocks.append(QueuedBlock(mode: mode, others: nil, body: performed))
    queuedBlocks.store(state.blocks.count, ordering: .releasing)
  }

  private func append(
    _ block: consuming @escaping () -> Void, _ first: Mode, _ more: ArraySlice<Mode>
  ) throws(RunLoopError) {
    guard isInThisProcess else { throw .forked }
    lock.lock()
    guard !hasEnded else {
      lock.unlock()
      throw .loopEnded
    }
    let mode = state.makeMode(first)
    let others = more.isEmpty ? nil : QueuedBlock.OtherModes(more.map { state.makeMode($0) }, besides: mode)
    state.blocks.append(QueuedBlock(mode: mode, others: others, body: consume block))
    queuedBlocks.store(state.blocks.count, ordering: .releasing)
    lock.unlock()
  }
}
