extension RunLoop {
  /// Adds an item to a mode, which is made if need be; to `.common`: to all common modes, now and later.
  ///
  /// - Returns: True if anything changed. False for what the C model ignores: an item that is invalid, a member already, equal
  ///   to a member (sources), or in another loop (timers and observers).
  /// - Throws: `.loopEnded`, `.forked`; `.itemInOtherLoop` for an item made by another loop's `assumeOnLoop`; `.systemCall`
  ///   if a descriptor is refused or none is left. The item is in no mode then that it was not in before.
  /// - Thread: Any; a sleeping loop serves the item at once. A source's `schedule` is called before the return.
  /// - SeeAlso: `CFRunLoopAddSource`, `CFRunLoopAddTimer`, `CFRunLoopAddObserver`.
  @discardableResult
  public func add(_ item: Item, to mode: Mode = .default) throws(RunLoopError) -> Bool {
    try checkUsable()
    if let only = item.onlyHost, only != serial { throw .itemInOtherLoop }
    var scheduled: [Mode] = []
    let hasChanged = try lock.withLock { () throws(RunLoopError) in try addLocked(item, to: mode, &scheduled) }
    if item.hasHooks { callSchedule(item, scheduled) }
    // Invalidated by another thread while it was added: it may have missed this membership.
    if !item.isValid { detach(item) }
    return hasChanged
  }

  /// - Parameter scheduled: The modes that it has entered, if it has hooks.
  private func addLocked(_ item: Item, to name: Mode, _ scheduled: inout [Mode]) throws(RunLoopError) -> Bool {
    guard !hasEnded else { throw .loopEnded }
    guard item.isValid else { return false }
    if let mode = state.pointee.mode(name), !mode.pointee.isPseudoMode {
      guard try insert(item, in: mode) else { return false }
    } else if name == .common {
      return try addToCommonModes(item, &scheduled)
    } else {
      guard item.isFree(for: self), try insert(item, in: state.pointee.makeMode(name)) else { return false }
    }
    if item.hasHooks { scheduled.append(name) }
    return true
  }

  private func addToCommonModes(_ item: Item, _ scheduled: inout [Mode]) throws(RunLoopError) -> Bool {
    guard item.isFree(for: self), item.isPlain || commonItem(equalTo: item) == nil else { return false }
    let isNew = record(item)
    var entered: [ModePointer] = []
    do throws(RunLoopError) {
      for mode in state.pointee.makeCommonModes() where try insert(item, in: mode) { entered.append(mode) }
    } catch {
      for mode in entered { _ = removeMember(item, from: mode) }
      if isNew { eraseRecord(of: item) }
      throw error
    }
    scheduled = entered.map { $0.pointee.name }
    return isNew || !entered.isEmpty
  }

  /// Takes an item out of a mode; from `.common`: out of the record and of all common modes. True if anything changed.
  ///
  /// - Thread: Any. A source's `cancel` is called before the return. - SeeAlso: `CFRunLoopRemoveSource` and its kin.
  @discardableResult
  public func remove(_ item: Item, from mode: Mode = .default) -> Bool {
    guard isUsable, !item.isForked else { return false }
    var left: [Member] = []
    // An equal source in its place may have lost its last reference: it goes after the lock.
    let gone = lock.withLock { removeLocked(item, from: mode, &left) }
    if item.hasHooks { callCancel(item, left) }
    return gone != nil
  }

  /// What has left: the item or, in its place, a source equal to it.
  private func removeLocked(_ item: Item, from name: Mode, _ left: inout [Member]) -> Item? {
    if let mode = state.pointee.mode(name), !mode.pointee.isPseudoMode {
      guard let gone = removeMember(item, from: mode) else { return nil }
      if item.hasHooks { left.append(Member(mode: name, item: gone)) }
      return gone
    }
    guard name == .common, let recorded = commonItem(equalTo: item) else { return nil }
    eraseRecord(of: recorded)
    for mode in commonModes() {
      if let gone = removeMember(item, from: mode) { left.append(Member(mode: mode.pointee.name, item: gone)) }
    }
    return recorded
  }

  /// True if the item, or an equal source, is in the mode; for `.common`: in the record.
  /// - SeeAlso: `CFRunLoopContainsSource` and its kin.
  public func contains(_ item: Item, in mode: Mode = .default) -> Bool {
    guard isUsable, !item.isForked else { return false }
    return lock.withLock {
      if let mode = state.pointee.mode(mode), !mode.pointee.isPseudoMode {
        if item.isMember(of: mode) { return true }
        return !item.isPlain && mode.pointee.member(equalTo: unsafeDowncast(item, to: Source.self)) != nil
      }
      guard mode == .common, commonItem(equalTo: item) != nil else { return false }
      return item.kind != .timer || item.isMember(ofAnyModeOf: self)  // rule 53
    }
  }

  /// Makes a mode common, for good: it receives all items of the common modes. Alone it does not make the mode.
  /// - SeeAlso: `CFRunLoopAddCommonMode`.
  public func makeCommon(_ mode: Mode) {
    guard isUsable, mode != .common else { return }
    var scheduled: [Item] = []
    lock.withLock { makeCommonLocked(mode, &scheduled) }
    for item in scheduled {
      callSchedule(item, [mode])
      if !item.isValid { detach(item) }  // invalidated meanwhile: it may have missed this membership
    }
  }

  private func makeCommonLocked(_ name: Mode, _ scheduled: inout [Item]) {
    guard !isCommonLocked(name) else { return }
    state.pointee.commonNames.insert(name)
    let items = state.pointee.commonItems.values.sorted { $0.stamp < $1.stamp }
    guard let mode = items.isEmpty ? state.pointee.mode(name) : state.pointee.makeMode(name) else { return }
    mode.pointee.isCommon = true
    try? insertMainQueueHint(in: mode)
    for common in items where common.item.isValid && common.item.isFree(for: self) {
      // Refused for want of a descriptor: it stays recorded, and add(_:to: .common) tries again, with an answer.
      if (try? insert(common.item, in: mode)) == true { scheduled.append(common.item) }
    }
  }

  /// True if items of the common modes are in this mode.
  public func isCommon(_ mode: Mode) -> Bool {
    guard isUsable else { return false }
    return lock.withLock { isCommonLocked(mode) }
  }

  private func isCommonLocked(_ name: Mode) -> Bool {
    state.pointee.mode(name)?.pointee.isCommon ?? state.pointee.commonNames.contains(name)
  }
}

// MARK: Schedule and cancel (rule 27): on the caller's thread, outside the lock

extension RunLoop {
  /// A membership that has ended.
  struct Member {
    let mode: Mode
    /// What was the member: the item, or a source equal to it.
    let item: Item
  }

  func callSchedule(_ item: Item, _ modes: [Mode]) {
    guard let hook = (item as? Source)?.hooks?.schedule else { return }
    for mode in modes { hook(self, mode) }
  }

  func callCancel(_ item: Item, _ members: [Member]) {
    guard let hook = (item as? Source)?.hooks?.cancel else { return }
    for member in members { hook(self, member.mode) }
  }
}
