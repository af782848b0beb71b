extension RunLoop {
  /// Adds an item to a mode, which is created if it does not exist; added to `.common`, the item is in all common
  /// modes, now and later.
  ///
  /// - Returns: True if anything changed. False for what the C model ignores: an item that is invalid, a member
  ///   already, equal to a member (sources), or in another loop (timers and observers) [RLK-ADD-1, RLK-ADD-2].
  ///   `printsDiagnostics` reports why.
  /// - Throws: `.loopEnded`, `.forked`; `.itemInOtherLoop` for an item made by another loop's `assumeOnLoop`
  ///   [RLK-ADD-6]; `.system` if a descriptor is refused or none is left [RLK-ADD-8]. The item is in no mode then
  ///   that it was not in before [RLK-ADD-3, RLK-ADD-4, RLK-ADD-11].
  /// - Thread: Any; a sleeping loop serves the item at once. A source's `schedule` is called before the return.
  /// - SeeAlso: `CFRunLoopAddSource`, `CFRunLoopAddTimer`, `CFRunLoopAddObserver`.
  @discardableResult
  public func add(_ item: Item, to mode: Mode = .default) throws(RunLoopError) -> Bool {
    guard isInThisProcess else { throw .forked }
    if let only = item.onlyHost, only != serial { throw .itemInOtherLoop(item.nameInErrors) }
    let change = try lockedWithEquals(of: item) { (equals) throws(RunLoopError) in try addLocked(item, to: mode, equals)
    }
    if let hooks = item.hooks { change.forEach(mode) { hooks.entered($0, of: self) } }
    if item.kind == .port, change.isAny { try checkConnections(of: unsafeDowncast(item, to: Port.self), change, mode) }
    if item.kind == .eventSource, change.isAny { unsafeDowncast(item, to: EventSource.self).hasEntered() }
    // Invalidated by another thread while it was added: it may have missed this membership.
    if item.isInvalidated { detach(item) }
    if change.isAny { return true }
    explainIgnored(item, mode)
    return false
  }

  /// A port without what takes its connections would let its peers wait for ever: it is not added.
  private func checkConnections(of port: Port, _ change: Change, _ mode: Mode) throws(RunLoopError) {
    guard let refusal = port.mailbox.connections?.refusal else { return }
    switch change {
    case .nothing: break
    case .membership: remove(port, from: mode)
    case .memberships(let members, _):
      for member in members { remove(port, from: member.mode) }
      if items(in: .common).contains(port), !port.isMember(ofAnyModeOf: self) { remove(port, from: .common) }
    }
    throw refusal
  }

  @inline(__always)
  private func addLocked(_ item: Item, to name: Mode, _ equals: EqualSources) throws(RunLoopError) -> Change {
    guard !hasEnded else { throw endedError }
    guard !item.isInvalidated, isOfThisProcess(item) else { return .nothing }
    if let mode = state.mode(name), !mode.isPseudoMode {
      return try mode.insert(item, equals, on: self) ? .membership : .nothing
    }
    guard item.isFree(for: self) else { return .nothing }
    if name == .common { return try addToCommonModes(item, equals) }
    return try state.makeMode(name).insert(item, equals, on: self) ? .membership : .nothing
  }

  private func addToCommonModes(_ item: Item, _ equals: EqualSources) throws(RunLoopError) -> Change {
    guard item.hooks?.hasIdentity != true || state.commonItems.item(equalTo: item, equals) == nil else {
      return .nothing
    }
    let isNew = state.commonItems.insert(item, on: self)
    var entered: [ModePointer] = []
    do throws(RunLoopError) {
      for mode in state.makeCommonModes() where try mode.insert(item, equals, on: self) { entered.append(mode) }
    } catch {
      for mode in entered { mode.leave(item, on: self) }
      if isNew { state.commonItems.remove(item, from: self) }
      throw error
    }
    guard isNew || !entered.isEmpty else { return .nothing }
    return .memberships(entered.map { Member(mode: $0.name, item: item) }, record: item)
  }

  /// Takes an item out of a mode; from `.common`: out of the record and of all common modes. True if anything changed.
  ///
  /// - Thread: Any. A source's `cancel` is called before the return. - SeeAlso: `CFRunLoopRemoveSource` and its kin.
  @discardableResult
  public func remove(_ item: Item, from mode: Mode = .default) -> Bool {
    guard isUsable, isOfThisProcess(item) else { return false }
    let change = lockedWithEquals(of: item) { removeLocked(item, from: mode, $0) }
    if let hooks = item.hooks { change.forEach(mode) { hooks.left($0, of: self) } }
    return change.isAny
  }

  @inline(__always)
  private func removeLocked(_ item: Item, from name: Mode, _ equals: EqualSources) -> Change {
    if let mode = state.mode(name), !mode.isPseudoMode {
      if mode.leave(item, on: self) { return .membership }
      guard let equal = mode.member(equalTo: item, equals), mode.leave(equal, on: self) else { return .nothing }
      return .memberships([Member(mode: name, item: equal)], record: nil)
    }
    guard name == .common, let recorded = state.commonItems.item(equalTo: item, equals) else { return .nothing }
    state.commonItems.remove(recorded, from: self)
    var left: [Member] = []
    for mode in state.modes where mode.isCommon {
      let gone = item.isMember(of: mode) ? item : mode.member(equalTo: item, equals)
      guard let gone, mode.leave(gone, on: self) else { continue }
      left.append(Member(mode: mode.name, item: gone))
    }
    return .memberships(left, record: recorded)
  }

  /// True if the item, or an equal source, is in the mode; for `.common`: in the record.
  /// - SeeAlso: `CFRunLoopContainsSource` and its kin.
  public func contains(_ item: Item, in mode: Mode = .default) -> Bool {
    guard isUsable, isOfThisProcess(item) else { return false }
    return lockedWithEquals(of: item) { equals in
      if let mode = state.mode(mode), !mode.isPseudoMode {
        return item.isMember(of: mode) || mode.member(equalTo: item, equals) != nil
      }
      guard mode == .common, state.commonItems.item(equalTo: item, equals) != nil else { return false }
      return item.kind != .timer || item.isMember(ofAnyModeOf: self)  // rule 53
    }
  }

  /// What is in the mode: signalled sources, observers (in their order), timers, port and descriptor sources
  /// [RLK-ADD-9]. For `.common`: the record of what was added to the common modes, in the order of adding.
  /// - Thread: Any; a moment's picture. - Complexity: O(items).
  public func items(in mode: Mode = .default) -> [Item] {
    guard isUsable else { return [] }
    return lock.withLock {
      let members = mode == .common ? state.commonItems.all : state.mode(mode)?.members ?? []
      return members.filter { $0.kind != .connection && !$0.isHidden }
    }
  }

  /// The tolerance of timers that are added without one, as if it had been set then; zero at first, and at least. A
  /// timer that must be exact all the same sets its own to zero, once and for all; a display link always is. Timers
  /// that are members already keep theirs; a repeating one gets at most half its interval.
  ///
  /// Wakes that are saved by it: `Statistics.wakesSaved`. - Thread: Any.
  public var defaultTimerTolerance: Duration {
    get { isUsable ? Duration(nanoseconds: lock.withLock { state.extras?.defaultTolerance ?? 0 }) : .zero }
    set {
      guard isUsable else { return }
      lock.withLock { if !hasEnded { state.makeExtras().defaultTolerance = newValue.nanosecondsRoundedUp } }
    }
  }

  /// Makes a mode common for good: it receives all items of the common modes, now and later.
  ///
  /// The mode itself is created when it gets an item. If the system refuses an item, for want of a descriptor, the loop
  /// reports that on standard error, and the next `add(_:to: .common)` of the item tries again [RLK-FAULT-2]. `.common`
  /// is ignored.
  /// - Thread: Any. - Blocks: No. - Complexity: O(items of the common modes). - SeeAlso: `CFRunLoopAddCommonMode`.
  public func addCommonMode(_ mode: Mode) {
    guard isUsable, mode != .common else { return }
    var (scheduled, refused): ([Item], [(Item, RunLoopError)]) = ([], [])
    lockedWithComparedSources({ state.commonItems.all }) { equals in
      makeCommonLocked(mode, equals, &scheduled, &refused)
    }
    for (item, error) in refused {
      StandardError.write("RunLoopKit: addCommonMode(\"\(mode)\") could not add \(item): \(error)\n")
    }
    for item in scheduled {
      item.hooks?.entered(mode, of: self)
      if item.isInvalidated { detach(item) }  // invalidated meanwhile: it may have missed this membership
    }
  }

  private func makeCommonLocked(
    _ name: Mode, _ equals: EqualSources, _ scheduled: inout [Item], _ refused: inout [(Item, RunLoopError)]
  ) {
    guard !isCommonLocked(name) else { return }
    state.commonNames.insert(name)
    let items = state.commonItems.all
    guard let mode = items.isEmpty ? state.mode(name) : state.makeMode(name) else { return }
    mode.isCommon = true
    try? mode.insertMainQueueHint(on: self)  // a run of the mode, which alone serves it, tries again, with an answer
    for item in items where item.isValid && item.isFree(for: self) {
      // Refused for want of a descriptor: it stays recorded, and add(_:to: .common) tries again, with an answer.
      do throws(RunLoopError) {
        if try mode.insert(item, equals, on: self) { scheduled.append(item) }
      } catch {
        refused.append((item, error))
      }
    }
  }

  /// Whether the mode receives the items of the common modes.
  /// - Thread: Any; the answer may be old when it is read. - Complexity: O(modes).
  public func isCommonMode(_ mode: Mode) -> Bool {
    guard isUsable else { return false }
    return lock.withLock { isCommonLocked(mode) }
  }

  private func isCommonLocked(_ name: Mode) -> Bool {
    state.mode(name)?.isCommon ?? state.commonNames.contains(name)
  }
}

// MARK: Schedule and cancel (rule 27): on the caller's thread, outside the lock

extension RunLoop {
  /// A membership that has begun or ended.
  struct Member {
    let mode: Mode
    /// The item, or in its place a source equal to it. Held until after the lock: it may have been the last reference.
    let item: Item
  }

  /// What adding or removing has changed.
  private enum Change {
    case nothing
    /// The item has entered or left the mode that was named.
    case membership
    /// It was the common modes, or an equal source.
    case memberships([Member], record: Item?)

    var isAny: Bool { if case .nothing = self { false } else { true } }

    /// The modes, of which `mode` was named.
    func forEach(_ mode: Mode, _ body: (Mode) -> Void) {
      switch self {
      case .nothing: break
      case .membership: body(mode)
      case .memberships(let members, _): for member in members { body(member.mode) }
      }
    }
  }

  /// On a usable loop.
  func isOfThisProcess(_ item: Item) -> Bool { item.forkGeneration == lock.forkGeneration }
}

// MARK: Sources that count as one

// Sources that count as one are compared before the lock is taken: their `==` is user code.

extension RunLoop {
  /// Runs `body` under the lock, with what equals the item in this loop.
  @inline(__always)
  func lockedWithEquals<R, E: Error>(
    of item: Item, _ body: (EqualSources) throws(E) -> R
  ) throws(E) -> R {
    if item.hooks?.hasIdentity == true { return try lockedWithComparedSources({ [item] }, body) }
    lock.lock()
    defer { lock.unlock() }
    return try body(.none)
  }

  /// The same for several items, which `items` collects under the lock. What is compared is let go of without it.
  @inline(never)
  func lockedWithComparedSources<R, E: Error>(
    _ items: () -> [Item], _ body: (EqualSources) throws(E) -> R
  ) throws(E) -> R {
    while true {
      let (version, wanted, others) = lock.withLock {
        (state.identitiesVersion, items(), state.sourcesWithIdentity)
      }
      var classes: [ObjectIdentifier: [Source]] = [:]
      for item in wanted where item.hooks?.hasIdentity == true {
        classes[ObjectIdentifier(item)] = others.filter { $0 !== item && $0 == item }
      }
      let equals = EqualSources(classes)
      lock.lock()
      guard state.identitiesVersion == version else {
        lock.unlock()
        continue  // one has been added meanwhile
      }
      defer {
        lock.unlock()
        withExtendedLifetime((wanted, others)) {}
      }
      return try body(equals)
    }
  }
}

extension LoopState {
  /// In any mode or in the record, each once.
  fileprivate var sourcesWithIdentity: [RunLoop.Source] {
    var found: [ObjectIdentifier: RunLoop.Source] = [:]
    for mode in modes { mode.sources.forEachWithIdentity { found[ObjectIdentifier($0)] = $0 } }
    for item in commonItems.all where item.kind == .source {
      let source = unsafeDowncast(item, to: RunLoop.Source.self)  // by its kind
      if source.hasIdentity { found[ObjectIdentifier(source)] = source }
    }
    return Array(found.values)
  }
}
