// Entering and leaving one mode, kind by kind. All under the loop's lock.

extension RunLoop {
  func commonModes() -> [ModePointer] {
    state.modes.filter { $0.pointee.isCommon }
  }

  /// Records a common item; false if it is recorded already.
  func record(_ item: Item) -> Bool {
    guard state.commonItems[ObjectIdentifier(item)] == nil else { return false }
    if item.hooks?.hasIdentity == true { state.identitiesVersion &+= 1 }
    let stamp = state.nextStamp()
    state.commonItems[ObjectIdentifier(item)] = LoopState.CommonItem(item: item, stamp: stamp)
    item.linkRecord(of: self, stamp: stamp)
    return true
  }

  func eraseRecord(of item: Item) {
    guard !state.commonItems.isEmpty,
      state.commonItems.removeValue(forKey: ObjectIdentifier(item)) != nil
    else { return }
    item.unlinkRecord(of: self)
  }

  /// The recorded item that counts as `item`: itself, or an equal source.
  func commonItem(equalTo item: Item, _ equals: EqualSources) -> Item? {
    if let common = state.commonItems[ObjectIdentifier(item)] { return common.item }
    for source in equals.of(item) where state.commonItems[ObjectIdentifier(source)] != nil { return source }
    return nil
  }

  /// False if the item, or an equal one, is a member already, or belongs to another loop.
  func insert(_ item: Item, in mode: ModePointer, _ equals: EqualSources = .none) throws(RunLoopError) -> Bool {
    if member(equalTo: item, in: mode, equals) != nil { return false }
    guard try item.link(to: self, mode, { () throws(RunLoopError) in try register(item, in: mode) }) != nil else {
      return false
    }
    if item.isBackground { mode.pointee.insertInBackground(item) }
    return true
  }

  /// Enters the mode's tables; the token. Under the leaf lock too.
  @inline(__always)
  private func register(_ item: Item, in mode: ModePointer) throws(RunLoopError) -> UInt64 {
    switch item.kind {
    case .portSource, .descriptorSource, .eventSource, .connection:
      // Proof: `Item.Kind`.
      let port = unsafeDowncast(item, to: DescriptorItem.self)
      if let descriptors = port.descriptors { return try register(port, descriptors, in: mode) }
      return try register(port, in: mode)
    case .timer:
      // Proof: `Item.Kind`.
      return try register(unsafeDowncast(item, to: Timer.self), in: mode)
    case .port:
      // Proof: `Item.Kind`.
      return try register(unsafeDowncast(item, to: Port.self), in: mode)
    case .source:
      let stamp = state.nextStamp()
      // Proof: `Item.Kind`.
      let source = unsafeDowncast(item, to: Source.self)
      if source.hasIdentity { state.identitiesVersion &+= 1 }
      mode.pointee.insert(source, stamp: stamp)
      return stamp
    case .observer:
      let stamp = state.nextStamp()
      // Proof: `Item.Kind`.
      mode.pointee.insert(unsafeDowncast(item, to: Observer.self), stamp: stamp)
      return stamp
    }
  }

  @inline(__always)
  private func register(_ port: DescriptorItem, in mode: ModePointer) throws(RunLoopError) -> UInt64 {
    if mode.pointee.portSet == nil {
      try port.checkOpen()  // or the set's own descriptors could get its number
      try makePortSet(of: mode)
    }
    // It is there, or was made above.
    let token = try mode.pointee.portSet!.insert(port.registration, port)
    if port.kind == .connection { mode.pointee.countConnection(1) } else { mode.pointee.countPort(1) }
    return token
  }

  /// What the item owns stays open while it is a member; if it rests it rests here too.
  @inline(never)
  private func register(
    _ port: DescriptorItem, _ descriptors: ItemDescriptors, in mode: ModePointer
  ) throws(RunLoopError) -> UInt64 {
    if let owned = descriptors.owned, !owned.hold() { return 0 }  // invalidated by another thread meanwhile
    do throws(RunLoopError) {
      let token = try register(port, in: mode)
      // Without that timer it is served here, and rests when it has been.
      if let timer = descriptors.limiter?.rest(in: serial), timer.isValid, (try? insert(timer, in: mode)) == true {
        setMuted(true, port, token, in: mode)
      }
      return token
    } catch {
      descriptors.owned?.release()
      throw error
    }
  }

  @inline(never)
  private func unregister(_ descriptors: ItemDescriptors, from mode: ModePointer) {
    descriptors.owned?.release()
    if let timer = descriptors.limiter?.rest(in: serial) { leave(timer, mode) }
  }

  /// While its callout runs it is armed when that ends.
  private func register(_ timer: Timer, in mode: ModePointer) throws(RunLoopError) -> UInt64 {
    if timer.clock == .suspending { try makeTimerHeap(of: mode) } else { try makeOtherClock(timer.clock, of: mode) }
    // Made in the line above.
    let token = try mode.pointee.heap(of: timer.clock)!.insert(timer)
    mode.pointee.countTimer(1)
    if let extras = state.extras, !timer.hasOwnTolerance, timer.schedule.tolerance == 0 {
      timer.schedule.setTolerance(extras.defaultTolerance, interval: timer.intervalNanoseconds)
    }
    if !timer.isFiring {
      if !Kernel.isCurrent(kernel) { timer.schedule.follow(now: kernel.now(timer.clock)) }
      arm(timer, in: mode, token)
    }
    return token
  }

  /// False if the item is no member. The caller holds it: its last reference must not go under the lock.
  @discardableResult
  func leave(_ item: Item, _ mode: ModePointer) -> Bool {
    guard let token = item.unlink(mode) else { return false }
    unregister(item, from: mode, token: token)
    return true
  }

  /// Another source that counts as the item (rule 28).
  @inline(__always)
  func member(equalTo item: Item, in mode: ModePointer, _ equals: EqualSources) -> Source? {
    equals.isEmpty ? nil : equals.of(item).first { $0.isMember(of: mode) }
  }

  /// Leaves the mode's tables.
  func unregister(_ item: Item, from mode: ModePointer, token: UInt64) {
    if mode.pointee.background.count > 0 { mode.pointee.removeFromBackground(item) }
    switch item.kind {
    case .portSource, .descriptorSource, .eventSource, .connection:
      // Made when the item was registered; it lasts as long as its mode.
      if !mode.pointee.portSet!.remove(item, token: token) { noteUnheard(nil, in: mode) }
      if mode.pointee.portSet!.hasUnheard { wakeWord.kick() }
      if mode.pointee.unheard != nil { mode.pointee.unheard!.forget(item) }
      if item.kind == .connection { mode.pointee.countConnection(-1) } else { mode.pointee.countPort(-1) }
      if let descriptors = item.descriptors { unregister(descriptors, from: mode) }
    case .timer:
      // Proof: `Item.Kind`. The heap was made when the timer was registered, and lasts as long as its mode.
      mode.pointee.heap(of: unsafeDowncast(item, to: Timer.self).clock)!.remove(item, token: token)
      mode.pointee.countTimer(-1)
      armTimer(of: mode)
    // Proof of the three casts: `Item.Kind`.
    case .port: unregister(unsafeDowncast(item, to: Port.self), from: mode)
    case .source: mode.pointee.remove(unsafeDowncast(item, to: Source.self))
    case .observer: mode.pointee.remove(unsafeDowncast(item, to: Observer.self))
    }
  }
}
