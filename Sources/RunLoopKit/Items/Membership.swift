extension RunLoop {
  /// Adds an item to a mode, and creates the mode if it does not exist. An item that is added to `.common` is in all
  /// common modes, also in those that become common later.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let timer = RunLoop.Timer(after: .milliseconds(10)) { _ in loop.stop() }
  /// print(try loop.add(timer, to: .common))  // prints true
  /// print(try loop.run())  // prints stopped
  /// ```
  /// - Returns: True if anything changed. Like CFRunLoop, the loop ignores an item that is invalid, a member already,
  ///   equal to a member (sources), or in another loop (timers and observers), and returns false [RLK-ADD-1,
  ///   RLK-ADD-2]. `diagnostics` reports why.
  /// - Throws: A `RunLoopError`: `.loopEnded`, `.forked`; `.itemInOtherLoop` for an item made by another loop's
  ///   `assumeOnLoop` [RLK-ADD-6]; `.system` if the kernel refuses to watch a descriptor, or to make one that the mode
  ///   needs for a source or port [RLK-ADD-8]. After an error the item is only in the modes in which it was before
  ///   [RLK-ADD-3, RLK-ADD-4, RLK-ADD-11]. A timer needs no descriptor: while the mode has none for it, the timeout of
  ///   each wait carries the timer's date.
  /// - Thread: Any; a sleeping loop serves the item at once. A source's `schedule` is called before the return.
  /// - SeeAlso: `CFRunLoopAddSource`, `CFRunLoopAddTimer`, `CFRunLoopAddObserver`.
  @discardableResult
  public func add(_ item: Item, to mode: Mode = .default) throws -> Bool {
    item.noteAdding()
    guard isInThisProcess else { throw RunLoopError.forked }
    if let only = item.onlyLoop, only != serial { throw RunLoopError.itemInOtherLoop(item.nameInErrors) }
    guard learnsEquals(of: item) else { throw RunLoopError.forked }
    let held = item.heldDescriptors
    let change = try lock.withLock { () throws(RunLoopError) in
      let change = try item.enter(mode, of: self)
      if held != nil, change.isAny { item.recheckReadiness(in: self) }
      return change
    }
    if held != nil, change.isAny { item.recheckReadiness(outside: self) }
    if let hooks = item.hooks { change.forEach(mode) { hooks.entered($0, of: self) } }
    if item.kind == .port, change.isAny { try checkConnections(of: item.asPort, change, mode) }
    if item.kind == .eventSource, change.isAny { unsafeDowncast(item, to: EventSource.self).hasEntered() }
    // If another thread has invalidated the item meanwhile, that thread may have missed this membership.
    if item.isInvalidated { detachLate(item) }
    if change.isAny { return true }
    explainIgnored(item, mode)
    return false
  }

  /// If nothing accepts the port's connections, takes the port out of the modes again and throws. Otherwise its peers
  /// would wait for ever.
  private func checkConnections(of port: Port, _ change: Change, _ mode: Mode) throws {
    guard let refusal = port.mailbox.transport?.refusal else { return }
    switch change {
    case .nothing: break
    case .membership: remove(port, from: mode)
    case .memberships(let members, _):
      for member in members { remove(port, from: member.mode) }
      if items(in: .common).contains(port), !port.isMember(ofAnyModeOf: self) { remove(port, from: .common) }
    }
    throw refusal
  }

  /// Removes an item from a mode. For `.common`, removes it from the loop's list of common items and from all common
  /// modes. Returns true if anything changed.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let timer = RunLoop.Timer(after: .seconds(1)) { _ in }
  /// try loop.add(timer)
  /// print(loop.remove(timer))  // prints true
  /// print(timer.isValid, loop.contains(timer))  // prints true false
  /// ```
  /// - Thread: Any. A source's `cancel` is called before the return. - SeeAlso: `CFRunLoopRemoveSource`, `…Timer`,
  ///   `…Observer`.
  @discardableResult
  public func remove(_ item: Item, from mode: Mode = .default) -> Bool {
    guard isUsable, isOfThisProcess(item) else { return false }
    guard learnsEquals(of: item) else { return false }
    let change = lock.withLock { item.leave(mode, of: self) }
    if let hooks = item.hooks { change.forEach(mode) { hooks.left($0, of: self) } }
    return change.isAny
  }

  /// True if the item, or an equal source, is in the mode; for `.common`, if it is in the loop's list of common items.
  /// - SeeAlso: `CFRunLoopContainsSource`, `…Timer`, `…Observer`.
  public func contains(_ item: Item, in mode: Mode = .default) -> Bool {
    guard isUsable, isOfThisProcess(item) else { return false }
    guard learnsEquals(of: item) else { return false }
    return lock.withLock {
      if let mode = state.mode(mode), !mode.isPseudoMode {
        return item.isMember(of: mode) || mode.member(equalTo: item) != nil
      }
      guard mode == .common, state.commonItems.item(equalTo: item) != nil else { return false }
      return item.kind != .timer || item.isMember(ofAnyModeOf: self)  // rule 53
    }
  }

  /// The items in the mode: signalled sources, observers (in their order), timers, port and descriptor sources
  /// [RLK-ADD-9]. For `.common`, the items that were added to the common modes, in the order of adding.
  /// - Thread: Any; the result is a snapshot. - Complexity: O(items).
  public func items(in mode: Mode = .default) -> [Item] {
    guard isUsable else { return [] }
    return lock.withLock {
      let members = mode == .common ? state.commonItems.all : state.mode(mode)?.members ?? []
      return members.filter { $0.kind != .connection && !$0.isHidden }
    }
  }
}

// MARK: Schedule and cancel (rule 27): on the caller's thread, outside the lock

extension RunLoop {
  /// A membership that has begun or ended.
  struct Member {
    let mode: Mode
    /// The item, or a source equal to it. Retained here because it must not be destroyed under the lock.
    let item: Item
  }

  /// The memberships that adding or removing has changed.
  fileprivate enum Change {
    case nothing
    /// The item has entered or left the mode that the caller named.
    case membership
    /// The memberships that have changed. The caller has named the common modes, or an equal source has left instead of
    /// the item.
    case memberships([Member], record: Item?)

    var isAny: Bool { if case .nothing = self { false } else { true } }

    /// Calls `body` with each mode that the item has entered or left. `mode` is the one that the caller named.
    func forEach(_ mode: Mode, _ body: (Mode) -> Void) {
      switch self {
      case .nothing: break
      case .membership: body(mode)
      case .memberships(let members, _): for member in members { body(member.mode) }
      }
    }
  }

  /// False if the item was inherited through fork(2). The loop must be usable.
  func isOfThisProcess(_ item: Item) -> Bool { item.forkGeneration == lock.forkGeneration }
}

// MARK: Entering and leaving; under the lock

extension RunLoop.Item {
  @inline(__always)
  fileprivate final func enter(_ name: RunLoop.Mode, of loop: RunLoop) throws(RunLoopError) -> RunLoop.Change {
    guard !loop.hasEnded else { throw loop.endedError }
    guard !isInvalidated, loop.isOfThisProcess(self) else { return .nothing }
    if let mode = loop.state.mode(name), !mode.isPseudoMode {
      return try mode.insert(self, on: loop) ? .membership : .nothing
    }
    guard isFree(for: loop) else { return .nothing }
    if name == .common { return try enterCommonModes(of: loop) }
    return try loop.state.makeMode(name).insert(self, on: loop) ? .membership : .nothing
  }

  private final func enterCommonModes(of loop: RunLoop) throws(RunLoopError) -> RunLoop.Change {
    guard withIdentity == nil || loop.state.commonItems.item(equalTo: self) == nil else { return .nothing }
    let isNew = loop.state.commonItems.insert(self, on: loop)
    var entered: [ModePointer] = []
    do throws(RunLoopError) {
      for mode in loop.state.makeCommonModes() where try mode.insert(self, on: loop) { entered.append(mode) }
    } catch {
      for mode in entered { mode.leave(self, on: loop) }
      if !entered.isEmpty { loop.interrupt() }  // a run may have counted the item
      if isNew { loop.state.commonItems.remove(self, from: loop) }
      throw error
    }
    guard isNew || !entered.isEmpty else { return .nothing }
    return .memberships(entered.map { RunLoop.Member(mode: $0.name, item: self) }, record: self)
  }

  @inline(__always)
  fileprivate final func leave(_ name: RunLoop.Mode, of loop: RunLoop) -> RunLoop.Change {
    if let mode = loop.state.mode(name), !mode.isPseudoMode {
      if mode.leave(self, on: loop) { return .membership }
      guard let equal = mode.member(equalTo: self), mode.leave(equal, on: loop) else { return .nothing }
      return .memberships([RunLoop.Member(mode: name, item: equal)], record: nil)
    }
    guard name == .common, let recorded = loop.state.commonItems.item(equalTo: self) else { return .nothing }
    loop.state.commonItems.remove(recorded, from: loop)
    var left: [RunLoop.Member] = []
    for mode in loop.state.modes where mode.isCommon {
      let gone = isMember(of: mode) ? self : mode.member(equalTo: self)
      guard let gone, mode.leave(gone, on: loop) else { continue }
      left.append(RunLoop.Member(mode: mode.name, item: gone))
    }
    return .memberships(left, record: recorded)
  }
}
