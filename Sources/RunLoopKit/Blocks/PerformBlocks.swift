internal import Synchronization

extension RunLoop {
  /// Rules 47, 48: the whole queue is detached; what matches runs, the rest goes back before anything queued meanwhile.
  @inline(__always)
  func performBlocks(in mode: ModePointer) {
    if queuedBlocks.load(ordering: .acquiring) > 0 { drainBlocks(in: mode) }
  }

  @inline(never)
  private func drainBlocks(in mode: ModePointer) {
    lock.lock()
    guard state.pointee.hasBlocks(for: mode) else { return lock.unlock() }
    var detached = state.pointee.detachBlocks()
    queuedBlocks.store(0, ordering: .releasing)
    lock.unlock()
    var kept = BlockBatch()
    while let block = detached.takeFirst() {
      // The child of a block that forks runs none of the rest.
      if isInThisProcess, block.mode == mode || matches(block, mode) {
        __RUNLOOPKIT_IS_CALLING_OUT_TO_A_BLOCK__(block.body)
      } else {
        kept.append(block)
      }
      // Released here, right after it ran (rule 50).
    }
    lock.lock()
    if kept.count > 0 {
      state.pointee.blocks.putBack(kept)
      queuedBlocks.store(state.pointee.blocks.count, ordering: .releasing)
    }
    state.pointee.blocks.recycle(detached)
    lock.unlock()
  }

  /// Directly, or by the common pseudo mode if the mode is common at this moment.
  private func matches(_ block: QueuedBlock, _ mode: ModePointer) -> Bool {
    if block.names(mode) { return true }
    return lock.withLock {
      guard mode.pointee.isCommon, let common = state.pointee.mode(.common) else { return false }
      return block.names(common)
    }
  }
}
