/// Sources that count as one (rule 28), compared before the lock is taken: their `==` is user code.
struct EqualSources {
  private let classes: [ObjectIdentifier: [RunLoop.Source]]?

  /// Of an item that equals nothing but itself.
  @inline(__always)
  static var none: EqualSources { EqualSources(nil) }

  @inline(__always)
  fileprivate init(_ classes: [ObjectIdentifier: [RunLoop.Source]]?) { self.classes = classes }

  @inline(__always)
  var isEmpty: Bool { classes == nil }

  /// Those that equal the item, itself left out.
  func of(_ item: RunLoop.Item) -> [RunLoop.Source] { classes?[ObjectIdentifier(item)] ?? [] }
}

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
    for mode in modes where mode.pointee.sourcesWithIdentity > 0 {
      for entry in mode.pointee.sources where entry.source.hasIdentity {
        found[ObjectIdentifier(entry.source)] = entry.source
      }
    }
    for common in commonItems.values {
      guard common.item.kind == .source else { continue }
      let source = unsafeDowncast(common.item, to: RunLoop.Source.self)
      if source.hasIdentity { found[ObjectIdentifier(source)] = source }
    }
    return Array(found.values)
  }
}
