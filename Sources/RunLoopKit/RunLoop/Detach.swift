extension RunLoop {
  /// Rule 54: takes the item out of all modes and out of the common record. It is invalid already: nobody can add it
  /// meanwhile. The caller holds it.
  func detach(_ item: Item) {
    guard isUsable, !item.isForked else { return }
    var left: [Member] = []
    lock.withLock {
      if item.hooks != nil {
        for mode in state.pointee.modes {
          guard leave(item, mode) else { continue }
          left.append(Member(mode: mode.pointee.name, item: item))
        }
      }
      while let (mode, token) = item.unlinkAny(of: self) { unregister(item, from: mode, token: token) }
      eraseRecord(of: item)
    }
    callCancel(item, left)
  }

  /// Rule 57: the thread ends. Sources are cancelled per mode, all items leave, pending blocks are released, on this thread
  /// and outside the lock; from now on whoever adds or posts is told so.
  func tearDown() {
    lock.lock()
    markEnded()
    var left: [Member] = []
    for mode in state.pointee.modes {
      for item in members(of: mode) {
        if leave(item, mode) { left.append(Member(mode: mode.pointee.name, item: item)) }
      }
    }
    let recorded = state.pointee.commonItems.values.map(\.item)
    for item in recorded { eraseRecord(of: item) }
    let blocks = state.pointee.detachBlocks()
    closeDescriptors()
    lock.unlock()
    let held = owner.pointee.heldEvents
    owner.pointee.heldEvents = []

    for member in left { callCancel(member.item, [member]) }
    withExtendedLifetime((left, recorded, held)) {}
    withExtendedLifetime(blocks) {}
  }

  private func members(of mode: ModePointer) -> [Item] {
    var items: [Item] = mode.pointee.sources.map(\.source)
    items += mode.pointee.observers.map(\.observer)
    items += mode.pointee.timers.all as [Item]
    items += mode.pointee.ports
    return items
  }

  private func closeDescriptors() {
    wakeWord.close()
    for mode in state.pointee.modes {
      mode.pointee.portSet?.destroy()
      mode.pointee.portSet = nil
      mode.pointee.timerHeap?.destroy()
      mode.pointee.timerHeap = nil
      mode.pointee.timerPort?.destroy()
      mode.pointee.timerPort = nil
    }
  }
}
