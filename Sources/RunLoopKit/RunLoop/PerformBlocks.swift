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
    guard state.pointee.hasBlocks(for: mode) else {
      lock.unlock()
      return false
    }
    owner.pointee.drains.begin()
    state.pointee.detachBlocks(into: &owner.pointee.drains.blocks)
    queuedBlocks.store(0, ordering: .releasing)
    lock.unlock()
    while let block = owner.pointee.drains.blocks.takeFirst() {
      // The child of a block that forks runs none of the rest.
      if isInThisProcess, block.mode == mode || matches(block, mode) {
        let began = countAndTime(.blocksPerformed)
        __RUNLOOPKIT_IS_CALLING_OUT_TO_A_BLOCK__(block.body)
        if began != 0 { calloutHasTaken(since: began, nil, .block) }
      } else {
        owner.pointee.drains.kept.append(block)
      }
      // Released here, right after it ran (rule 50).
    }
    if owner.pointee.drains.kept.count > 0 { putBack() }
    owner.pointee.drains.end()
    return takePerformed()
  }

  /// A perform that counts as a source begins. [loop]
  func noteSourcePerform() { owner.pointee.activation?.pointee.hasPerformed = true }

  @inline(__always)
  private func takePerformed() -> Bool {
    guard let activation = owner.pointee.activation, activation.pointee.hasPerformed else { return false }
    activation.pointee.hasPerformed = false
    return true
  }

  private func putBack() {
    lock.withLock {
      state.pointee.blocks.putBack(&owner.pointee.drains.kept)
      queuedBlocks.store(state.pointee.blocks.count, ordering: .releasing)
    }
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
