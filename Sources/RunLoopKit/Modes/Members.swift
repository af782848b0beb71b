// Entering and leaving one mode, kind by kind. All under the loop's lock.

extension RunLoop {
  func commonModes() -> [ModePointer] {
    state.pointee.modes.filter { $0.pointee.isCommon }
  }

  /// Records a common item; false if it is recorded already.
  func record(_ item: Item) -> Bool {
    guard state.pointee.commonItems[ObjectIdentifier(item)] == nil else { return false }
    let stamp = state.pointee.nextStamp()
    state.pointee.commonItems[ObjectIdentifier(item)] = LoopState.CommonItem(item: item, stamp: stamp)
    return item.link(ItemLink(host: self, mode: nil, token: 0, stamp: stamp))
  }

  func eraseRecord(of item: Item) {
    guard !state.pointee.commonItems.isEmpty,
      state.pointee.commonItems.removeValue(forKey: ObjectIdentifier(item)) != nil
    else { return }
    item.unlinkRecord(of: self)
  }

  /// The recorded item that counts as `item`: itself, or an equal source.
  func commonItem(equalTo item: Item) -> Item? {
    if let common = state.pointee.commonItems[ObjectIdentifier(item)] { return common.item }
    guard !item.isPlain else { return nil }
    return state.pointee.commonItems.values.first { $0.item == item }?.item
  }

  /// False if the item, or an equal one, is a member already, or belongs to another loop.
  func insert(_ item: Item, in mode: ModePointer) throws(RunLoopError) -> Bool {
    guard !item.isMember(of: mode) else { return false }
    let stamp = state.pointee.nextStamp()
    switch item {
    case let source as Source:
      guard mode.pointee.member(equalTo: source) == nil else { return false }
      _ = source.link(ItemLink(host: self, mode: mode, token: 0, stamp: stamp))
      mode.pointee.insert(source, stamp: stamp)
    case let observer as Observer:
      guard observer.link(ItemLink(host: self, mode: mode, token: 0, stamp: stamp)) else { return false }
      mode.pointee.insert(observer, stamp: stamp)
    case let timer as Timer:
      return try insert(timer, in: mode, stamp)
    case let port as DescriptorItem:
      try makePortSet(of: mode)
      let token = try mode.pointee.portSet!.insert(
        port.registration, context: Unmanaged.passUnretained(port).toOpaque())
      _ = port.link(ItemLink(host: self, mode: mode, token: token, stamp: stamp))
      mode.pointee.ports.insert(port, token: token)
    default:
      preconditionFailure("an item of unknown kind")
    }
    return true
  }

  private func insert(_ timer: Timer, in mode: ModePointer, _ stamp: UInt64) throws(RunLoopError) -> Bool {
    try makeTimerHeap(of: mode)
    let heap = mode.pointee.timerHeap!
    let token = try heap.insert(context: Unmanaged.passUnretained(timer).toOpaque())
    guard timer.link(ItemLink(host: self, mode: mode, token: token, stamp: stamp)) else {
      heap.remove(token: token)
      return false
    }
    mode.pointee.timers.insert(timer, token: token)
    if !timer.isFiring {
      let (date, tolerance) = timer.withSchedule { ($0.date, $0.tolerance) }
      heap.arm(token: token, deadline: date, tolerance: tolerance)
      armTimer(of: mode)
    }
    return true
  }

  /// Nil if neither the item nor an equal source is a member.
  func removeMember(_ item: Item, from mode: ModePointer) -> Member? {
    guard let link = item.link(in: mode) else {
      guard let source = item as? Source, let equal = mode.pointee.member(equalTo: source) else { return nil }
      return removeMember(equal, from: mode)
    }
    item.unlink(mode: mode)
    switch item {
    case let source as Source: mode.pointee.remove(source)
    case let observer as Observer: mode.pointee.remove(observer)
    case is Timer:
      mode.pointee.timerHeap?.remove(token: link.token)
      mode.pointee.timers.remove(token: link.token)
      armTimer(of: mode)
    case is DescriptorItem:
      mode.pointee.portSet?.remove(token: link.token)
      mode.pointee.ports.remove(token: link.token)
    default: break
    }
    return Member(mode: mode.pointee.name, item: item)
  }
}
