extension RunLoop {
  /// The mode in which the loop runs; nil if it does not run. - SeeAlso: `CFRunLoopCopyCurrentMode`.
  public var currentMode: Mode? {
    guard isUsable else { return nil }
    return lock.withLock { state.currentMode?.name }
  }

  /// All modes: the default mode, and every one that an item or a block was added to. They never vanish.
  /// - SeeAlso: `CFRunLoopCopyAllModes`.
  public var modes: Set<Mode> {
    guard isUsable else { return [] }
    return lock.withLock { Set(state.modes.map { $0.name }) }
  }

  func runs(in mode: ModePointer) -> Bool { state.currentMode == mode }
}

extension LoopState {
  /// Mutating, since the compiler (6.3) copies the state for a look at it otherwise.
  @inline(__always)
  mutating func mode(_ name: RunLoop.Mode) -> ModePointer? {
    defaultMode.isKnown(as: name) ? defaultMode : find(name)
  }

  /// More than these are found by a table.
  private static let mostSearchedModes = 16

  private mutating func find(_ name: RunLoop.Mode) -> ModePointer? {
    if modes.count > Self.mostSearchedModes, let extras { return extras.mode(name, among: modes) }
    for mode in modes where mode.isKnown(as: name) { return mode }
    for mode in modes where mode.name == name {
      mode.isFound(by: name)
      return mode
    }
    return nil
  }

  /// Makes the mode if there is none (rule 51).
  @inline(__always)
  mutating func makeMode(_ name: RunLoop.Mode) -> ModePointer {
    defaultMode.isKnown(as: name) ? defaultMode : findOrMake(name)
  }

  @inline(never)
  private mutating func findOrMake(_ name: RunLoop.Mode) -> ModePointer {
    if let mode = find(name) { return mode }
    let mode = ModePointer.make(name: name, isCommon: commonNames.contains(name))
    modes.append(mode)
    if modes.count > Self.mostSearchedModes { _ = makeExtras() }
    return mode
  }

  mutating func isCommon(_ name: RunLoop.Mode) -> Bool { mode(name)?.isCommon ?? commonNames.contains(name) }

  /// All common modes; a common item makes those that are only names so far (A20).
  mutating func makeCommonModes() -> [ModePointer] {
    for name in commonNames.sorted(by: { $0.rawValue < $1.rawValue }) { _ = makeMode(name) }
    return modes.filter { $0.isCommon }
  }

  /// The names of the modes among these links, in the order in which the modes were made.
  func names(of links: ItemLinks) -> [RunLoop.Mode] {
    modes.filter { mode in links.contains { $0.mode == mode } }.map { $0.name }
  }
}
