internal import Synchronization

extension ModePointer {
  /// Detaches the whole queue and runs the blocks that match the mode. Puts the others back before those that were
  /// queued meanwhile (rules 47, 48). Returns true if a block has run that counts as a source (decision 0014).
  /// - Thread: The loop's own.
  @inline(__always)
  @discardableResult
  func performBlocks(on loop: RunLoop) -> Bool {
    loop.queuedBlocks.load(ordering: .acquiring) > 0 && loop.drainBlocks(in: self)
  }

  /// Whether the block names the mode, or names `.common` while the mode is common.
  fileprivate func matches(_ block: QueuedBlock, on loop: RunLoop) -> Bool {
    if block.names(self) { return true }
    return loop.lock.withLock {
      guard isCommon, let common = loop.state.mode(.common) else { return false }
      return block.names(common)
    }
  }
}

extension RunLoop {
  @inline(never)
  fileprivate func drainBlocks(in mode: ModePointer) -> Bool {
    lock.lock()
    guard state.hasBlocks(for: mode), !stops.isQuitting else {
      lock.unlock()
      return false
    }
    state.detachBlocks(into: &owner.drain)
    queuedBlocks.store(0, ordering: .releasing)
    lock.unlock()
    let at = innermostRun.state.at
    if owner.drain.waiting != nil { performWaitingBlocks(in: mode, at) }
    while let block = owner.drain.blocks.takeFirst() {
      // If a block forks, the child runs no further block.
      if isInThisProcess, block.mode == mode || mode.matches(block, on: self) {
        perform(block, at)
      } else {
        owner.drain.keep(block)
      }
      // The block is released here, right after it ran (rule 50).
    }
    if owner.drain.waiting != nil { putBackBlocks() }
    owner.drain.end()
    return innermostRun.takePerform()
  }

  /// - Parameter at: The stack place of the run.
  @inline(__always)
  private func perform(_ block: borrowing QueuedBlock, _ at: UInt) {
    let timing = CalloutTiming(counting: .blocksPerformed, on: self)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_A_BLOCK__(block.body)
    endRuns(insideOf: at)
    timing.end(nil, .block, on: self)
    if owner.hasHostedWait { endHostedWaitsOfCallout() }
  }

  /// Runs the blocks for this mode that drains of other modes have kept. They were queued before all blocks that no
  /// drain has seen.
  @inline(never)
  private func performWaitingBlocks(in mode: ModePointer, _ at: UInt) {
    var number: UInt64 = 0
    while isInThisProcess {
      // A block may have made the mode common.
      let common = lock.withLock { mode.isCommon ? state.mode(.common) : nil }
      let next = owner.drain.waiting?.takeUnretainedValue().takeNext(
        for: mode, orFor: common, behind: &number)
      guard let block = next else { return }
      perform(block, at)
    }
  }

  @inline(never)
  private func putBackBlocks() {
    guard let kept = owner.drain.takeWaiting() else { return }
    lock.withLock {
      state.blocks.putBack(kept, areSomeWithdrawn: state.drainsHaveWithdrawnBlocks)
      if innermostRun.state.outer == nil { state.drainsHaveWithdrawnBlocks = false }
      queuedBlocks.store(state.blocks.isEmpty ? 0 : 1, ordering: .releasing)
    }
  }
}
