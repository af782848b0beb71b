extension RunLoop {
  /// Runs `block` once on the loop's thread, in the first pass whose mode is among `modes`, and wakes the loop.
  ///
  /// Blocks run in the order of queueing. A block queued by a block waits for the next drain. The block is released right
  /// after it ran, or, not having run, when the loop ends; with no lock held. The named modes are made if need be.
  /// - Parameter modes: `.common` stands for every mode that is common when the block's turn comes. None: the default mode.
  /// - Throws: `.loopEnded`, `.forked`; the block is released by the caller then.
  /// - Complexity: O(modes), amortized; one write(2) if the loop sleeps.
  public func perform(in modes: Mode..., block: sending @escaping () -> Void) throws(RunLoopError) {
    try append(block, modes.isEmpty ? [.default] : modes)
    wakeWord.signal()
  }

  /// As `perform(in:block:)`, with a list of modes, which must not be empty (`.noMode`).
  public func perform(in modes: [Mode], block: sending @escaping () -> Void) throws(RunLoopError) {
    try append(block, modes)
    wakeWord.signal()
  }

  /// As `perform(in:block:)`, but does not wake the loop: a sleeping one runs the block when something else has woken it.
  /// - SeeAlso: `CFRunLoopPerformBlock`.
  public func enqueue(in modes: [Mode] = [.default], block: sending @escaping () -> Void) throws(RunLoopError) {
    try append(block, modes)
  }

  private func append(_ block: @escaping () -> Void, _ names: [Mode]) throws(RunLoopError) {
    guard let first = names.first else { throw .noMode }
    try checkUsable()
    lock.lock()
    guard !hasEnded else {
      lock.unlock()
      throw .loopEnded
    }
    let mode = state.pointee.makeMode(first)
    let others = names.count > 1 ? names.dropFirst().map { state.pointee.makeMode($0) } : []
    state.pointee.blocks.append(BlockQueue.Entry(mode: mode, others: others, body: block))
    lock.unlock()
  }
}
