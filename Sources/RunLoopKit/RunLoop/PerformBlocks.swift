internal import Synchronization

extension RunLoop {
  /// Rules 47, 48: the whole queue is detached; what matches runs, the rest goes back before anything queued meanwhile.
  /// True if one of them counts as a source (decision 0014).
  @inline(__always)
  @discardableResult
  func performBlocks(in mode: ModePointer) -> Bool {
    queuedBlocks.load(ordering: .acquiring) > 0 && drainBlocks(in: mode)
  }

  @inline(never)
  private func drainBlocks(in mode: ModePointer) -> Bool {
    lock.lock()
    guard state.hasBlocks(for: mode) else {
      lock.unlock()
      return false
    }
    owner.drains.begin()
    state.detachBlocks(into: &owner.drains.blocks)
    queuedBlocks.store(0, ordering: .releasing)
    lock.unlock()
    while let block = owner.drains.blocks.takeFirst() {
      // The child of a block that forks runs none of the rest.
      if isInThisProcess, block.mode == mode || matches(block, mode) {
        let began = countAndTime(.blocksPerformed)
        __RUNLOOPKIT_IS_CALLING_OUT_TO_A_BLOCK__(block.body)
        if began != 0 { calloutHasTaken(since: began, nil, .block) }
      } else {
        owner.drains.kept.append(block)
      }
      // Released here, right after it ran (rule 50).
    }
    if owner.drains.kept.count > 0 { putBack() }
    owner.drains.end()
    return takePerformed()
  }

  /// A perform that counts as a source begins. [loop]
  func noteSourcePerform() { owner.activation?.pointee.hasPerformed = true }

  @inline(__always)
  private func takePerformed() -> Bool {
    guard let activation = owner.activation, activation.pointee.hasPerformed else { return false }
    activation.pointee.hasPerformed = false
    return true
  }

  private func putBack() {
    lock.withLock {
      state.blocks.putBack(&owner.drains.kept)
      queuedBlocks.store(state.blocks.count, ordering: .releasing)
    }
  }

  /// Directly, or by the common pseudo mode if the mode is common at this moment.
  private func matches(_ block: QueuedBlock, _ mode: ModePointer) -> Bool {
    if block.names(mode) { return true }
    return lock.withLock {
      guard mode.isCommon, let common = state.mode(.common) else { return false }
      return block.names(common)
    }
  }
}
