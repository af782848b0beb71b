extension RunLoop: ItemHost {
  /// Rule 54. The item is invalid already: nobody can add it meanwhile.
  func detach(_ item: Item) {
    guard isUsable, !item.isForked else { return }
    var left: [Member] = []
    lock.withLock {
      for mode in state.pointee.modes where item.isMember(of: mode) {
        if let member = removeMember(item, from: mode), item.hasHooks { left.append(member) }
      }
      eraseRecord(of: item)
    }
    callCancel(item, left)
  }

  /// Rule 57: the thread ends. Sources are cancelled per mode, all items leave, pending blocks are released, on this thread
  /// and outside the lock; from now on whoever adds or posts is told so.
  func tearDown() {
    lock.lock()
    markEnded()
    var items: [(item: Item, member: Member)] = []
    for mode in state.pointee.modes {
      for item in members(of: mode) {
        if let member = removeMember(item, from: mode) { items.append((item, member)) }
      }
    }
    let recorded = state.pointee.commonItems.values.map(\.item)
    for item in recorded { eraseRecord(of: item) }
    let blocks = state.pointee.blocks.detach()
    closeDescriptors()
    lock.unlock()
    let held = owner.pointee.heldEvents
    owner.pointee.heldEvents = []

    for (item, member) in items { callCancel(item, [member]) }
    withExtendedLifetime((items, recorded, blocks, held)) {}
  }

  private func members(of mode: ModePointer) -> [Item] {
    var items: [Item] = mode.pointee.sources.map(\.source)
    items += mode.pointee.observers.map(\.observer)
    items += mode.pointee.timers.all as [Item]
    items += mode.pointee.ports.all as [Item]
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
