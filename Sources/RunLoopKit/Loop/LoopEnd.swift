internal import Synchronization

extension RunLoop {
  /// Ends the loop with its thread (rule 57). Removes all items under the lock; adding and posting throw afterwards.
  /// Then calls the `cancel` hook of each source for each of its modes, and releases items and pending blocks, on this
  /// thread and without the lock.
  func tearDown() {
    releaseAll()
    owner.scopes?.drain(to: 0)  // the callouts of `releaseAll` may have put actions into the scopes
    for companion in lock.withLock({ state.endCompanions() }) { companion.loopHasEnded() }
  }

  private func releaseAll() {
    if owner.awaitedCall != nil {
      fatalError("RunLoopKit: a thread has ended inside a block of performAndWait, whose caller would wait for ever")
    }
    lock.lock()
    markEnded()
    var left: [Member] = []
    for mode in state.modes where !mode.hasNoMembers {
      for item in mode.members {
        if mode.leave(item, on: self) { left.append(Member(mode: mode.name, item: item)) }
      }
    }
    let recorded = state.commonItems.all
    for item in recorded { state.commonItems.remove(item, from: self) }
    let blockCount = state.blocks.count
    var blocks = BlockDrain()
    state.detachBlocks(into: &blocks)
    let extras = state.takeExtras(kernel)
    activeCounters.store(0, ordering: .relaxed)
    let delayed = state.delayedPerforms.takeAll()
    let collected = state.collectedTimers.takeAll()
    wakes.word.end()
    state.closeDescriptors()
    lock.unlock()
    if isMain {
      let members = Set(left.filter { $0.item.awaitsCall }.map { ObjectIdentifier($0.item) })
      MainLoop.warnOfEnd(members: members.count, blocks: blockCount)
    }
    let held = owner.hosted?.takeEvents() ?? []
    let (served, drained) = takeRuns()

    callouts.endAll(on: self)
    extras?.endIdleWork()
    for performed in delayed { performed.abandon() }
    for member in left { member.item.hooks?.left(member.mode, of: self) }
    for case let port as Port in left.map(\.item) + recorded { port.loopHasEnded() }
    for item in left.map(\.item) + recorded where item.endsWithItsLoop { item.invalidate() }
    withExtendedLifetime((left, recorded, extras)) {}
    for event in held { event.drop() }
    for timer in collected { timer.release() }
    // The callouts of these sources have not returned. The stack is not unwound and may retain the sources for ever, so
    // their descriptors are closed here.
    for source in served {
      source.owned?.release()
      source.invalidate()
    }
    withExtendedLifetime(blocks) {}
    withExtendedLifetime(drained) {}
  }
}

extension RunLoop.Item {
  /// True if the program has added the item and the item waits for a callout. Sources that are not signalled, timers
  /// without a date and observers do not count: libraries keep such items in the loop of a thread that never runs it,
  /// and miss nothing.
  fileprivate var awaitsCall: Bool {
    switch kind {
    case .connection, .observer: false
    case .source: !isHidden && asSource.isSignalled
    case .timer: !isHidden && asTimer.fireDate != .distantFuture
    case .port, .portSource, .descriptorSource, .eventSource: !isHidden
    }
  }
}
