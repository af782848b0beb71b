extension LoopState {
  /// True if a queued block would run in the mode: it names the mode, or the common modes and the mode is one.
  func hasBlocks(for mode: ModePointer) -> Bool {
    if mode.pendingBlockCount > 0 { return true }
    return !blocks.isEmpty && commonBlockCount(for: mode) > 0
  }

  /// How many they are; one that names both the mode and the common modes counts twice.
  func blockCount(for mode: ModePointer) -> Int { mode.pendingBlockCount + commonBlockCount(for: mode) }

  private func commonBlockCount(for mode: ModePointer) -> Int {
    guard mode.isCommon else { return 0 }
    return modes.first { $0.isPseudoMode }?.pendingBlockCount ?? 0
  }

  /// Hands all blocks of the queue over to a drain.
  @inline(__always)
  mutating func detachBlocks(into drain: inout BlockDrain) {
    defaultMode.pendingBlockCount = 0
    if modes.count > 1 { forgetBlockCounts() }
    blocks.detach(into: &drain)
  }

  @inline(never)
  private func forgetBlockCounts() { for mode in modes { mode.pendingBlockCount = 0 } }

  /// What a drain that was left has not run.
  mutating func putBackDrain(_ drain: inout BlockDrain) {
    if let rest = drain.takeRest() { blocks.putBack(rest, areSomeWithdrawn: drainsHaveWithdrawnBlocks) }
  }
}
