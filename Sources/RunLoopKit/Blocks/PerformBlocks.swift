extension RunLoop {
  /// Rules 47, 48: the whole queue is detached; what matches runs, the rest goes back before anything queued meanwhile.
  func performBlocks(in mode: ModePointer) {
    guard queuedBlocks.load(ordering: .acquiring) > 0 else { return }
    lock.lock()
    guard state.pointee.hasBlocks(for: mode) else { return lock.unlock() }
    var detached = state.pointee.blocks.detach()
    queuedBlocks.store(0, ordering: .releasing)
    lock.unlock()
    var kept = BlockQueue.Entries()
    for index in detached.indices {
      // The child of a block that forks runs none of the rest.
      if isInThisProcess, detached[index].mode == mode || matches(detached[index], mode) {
        // Released right after it ran (rule 50).
        if let body = detached[index].body.take() { __RUNLOOPKIT_IS_CALLING_OUT_TO_A_BLOCK__(body) }
      } else {
        kept.append(detached[index])
      }
    }
    detached.removeAll(keepingCapacity: true)
    lock.withLock {
      if !kept.isEmpty {
        state.pointee.blocks.putBack(kept)
        queuedBlocks.store(state.pointee.blocks.count, ordering: .releasing)
      }
      state.pointee.blocks.recycle(&detached)
    }
  }

  /// Directly, or by the common pseudo mode if the mode is common at this moment.
  private func matches(_ entry: BlockQueue.Entry, _ mode: ModePointer) -> Bool {
    if entry.mode == mode || entry.others.contains(mode) { return true }
    return lock.withLock {
      guard mode.pointee.isCommon, let common = state.pointee.mode(.common) else { return false }
      return entry.mode == common || entry.others.contains(common)
    }
  }
}
