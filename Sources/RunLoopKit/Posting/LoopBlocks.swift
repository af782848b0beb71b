extension LoopState {
  /// Whether a queued block would run in the mode: it names the mode, or it names `.common` and the mode is common.
  func hasBlocks(for mode: ModePointer) -> Bool {
    if mode.pendingBlockCount > 0 { return true }
    return !blocks.isEmpty && commonBlockCount(for: mode) > 0
  }

  /// How many queued blocks would run in the mode. A block that names both the mode and `.common` counts twice.
  func blockCount(for mode: ModePointer) -> Int { mode.pendingBlockCount + commonBlockCount(for: mode) }

  private func commonBlockCount(for mode: ModePointer) -> Int {
    guard mode.isCommon else { return 0 }
    return modes.first { $0.isPseudoMode }?.pendingBlockCount ?? 0
  }

  /// Hands all blocks over to a drain, and resets the modes' counts.
  @inline(__always)
  mutating func detachBlocks(into drain: inout BlockDrain) {
    defaultMode.pendingBlockCount = 0
    if modes.count > 1 { forgetBlockCounts() }
    blocks.detach(into: &drain)
  }

  @inline(never)
  private func forgetBlockCounts() { for mode in modes { mode.pendingBlockCount = 0 } }

  /// Called when an exception or longjmp(3) has left a run. Puts back the blocks that the run's drain had not run yet.
  mutating func putBackDrain(_ drain: inout BlockDrain) {
    if let rest = drain.takeRest() { blocks.putBack(rest, areSomeWithdrawn: drainsHaveWithdrawnBlocks) }
  }
}
