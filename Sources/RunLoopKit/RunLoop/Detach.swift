internal import Synchronization

extension RunLoop {
  /// Rule 54: takes the item out of all modes and out of the common record. It is invalid already: nobody can add it
  /// meanwhile. The caller holds it. True if it was in one mode of this loop, and nowhere else.
  @discardableResult
  func detach(_ item: Item) -> Bool {
    guard isUsable, isOfThisProcess(item) else { return false }
    lock.lock()
    if let (mode, token) = item.unlinkOnly(of: self) {
      unregister(item, from: mode, token: token)
      let name = item.hooks == nil ? nil : mode.pointee.name
      lock.unlock()
      if let name { item.hooks?.cancel?(self, name) }
      return true
    } else {
      let cancelled = detachFromAll(item)
      lock.unlock()
      if let hook = item.hooks?.cancel { for mode in cancelled { hook(self, mode) } }
      return false
    }
  }

  private func detachFromAll(_ item: Item) -> [Mode] {
    let links = item.unlinkAll(of: self)
    links.forEach { link in
      if let mode = link.mode {
        unregister(item, from: mode, token: link.token)
      } else {
        state.commonItems.removeValue(forKey: ObjectIdentifier(item))
      }
    }
    return names(of: links)
  }

  /// In the order in which the modes were made.
  private func names(of links: ItemLinks) -> [Mode] {
    state.modes.filter { mode in links.contains { $0.mode == mode } }.map { $0.pointee.name }
  }

  /// Rule 57: the thread ends. Sources are cancelled per mode, all items leave, pending blocks are released, on this thread
  /// and outside the lock; from now on whoever adds or posts is told so.
  func tearDown() {
    if owner.awaitedCalls > 0 {
      fatalError("RunLoopKit: a thread has ended inside a block of performAndWait, whose caller would wait for ever")
    }
    lock.lock()
    markEnded()
    var left: [Member] = []
    for mode in state.modes where !mode.pointee.hasNoMembers {
      for item in members(of: mode) {
        if leave(item, mode) { left.append(Member(mode: mode.pointee.name, item: item)) }
      }
    }
    let recorded = state.commonItems.values.map(\.item)
    for item in recorded { eraseRecord(of: item) }
    var blocks = BlockBatch()
    state.detachBlocks(into: &blocks)
    let extras = state.takeExtras()
    activeCounters.store(0, ordering: .relaxed)
    let delayed = state.delayedPerforms.takeAll()
    let collected = state.collectedTimers
    state.collectedTimers = []
    closeDescriptors()
    lock.unlock()
    if isMain { MainThread.tellOfEnd(members: Set(left.map { ObjectIdentifier($0.item) }).count, blocks: blocks.count) }
    let held = owner.heldEvents
    owner.heldEvents = []
    let served = owner.servedOwners
    owner.servedOwners = []
    var drained = BlockDrains()  // the thread was ended by a block
    swap(&drained, &owner.drains)

    endAllCallouts()
    extras?.endIdleWork()
    for performed in delayed { performed.abandon() }
    for member in left { member.item.hooks?.cancel?(self, member.mode) }
    for item in left.map(\.item) + recorded where item.kind == .port {
      unsafeDowncast(item, to: Port.self).loopHasEnded()  // by its kind
    }
    withExtendedLifetime((left, recorded, held, extras)) {}
    for timer in collected { timer.timer.release() }
    // The stack, which nobody unwinds, may hold these for ever: their descriptors are closed all the same.
    for source in served {
      source.owned?.release()
      source.invalidate()
    }
    withExtendedLifetime(blocks) {}
    withExtendedLifetime(drained) {}
  }

  func members(of mode: ModePointer) -> [Item] {
    var items: [Item] = mode.pointee.sources.map(\.source)
    items += mode.pointee.observers.map(\.observer)
    items += mode.pointee.timers as [Item]
    items += mode.pointee.ports as [Item]
    if let ports = mode.pointee.messagePorts { items += ports.pointee.members.map(\.port) as [Item] }
    return items
  }

  private func closeDescriptors() {
    wakeWord.end()
    for mode in state.modes {
      mode.pointee.portSet?.destroy()
      mode.pointee.portSet = nil
      mode.pointee.timerHeap?.destroy()
      mode.pointee.timerHeap = nil
      mode.pointee.timerPort?.destroy()
      mode.pointee.timerPort = nil
      mode.pointee.otherClocks = nil
    }
  }
}
