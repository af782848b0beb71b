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
