extension RunLoop {
  /// The mode in which the loop runs; nil if it does not run. - SeeAlso: `CFRunLoopCopyCurrentMode`.
  public var currentMode: Mode? {
    guard isUsable else { return nil }
    return lock.withLock { state.currentMode?.name }
  }

  /// All modes: the default mode, each mode to which an item or a block was added, and each mode that a host has asked
  /// for. Modes never vanish.
  /// - SeeAlso: `CFRunLoopCopyAllModes`.
  public var modes: Set<Mode> {
    guard isUsable else { return [] }
    return lock.withLock { Set(state.modes.map { $0.name }) }
  }

  func runs(in mode: ModePointer) -> Bool { state.currentMode == mode }
}

extension LoopState {
  /// The mode with this name; nil if there is none. Mutating, because a call of a nonmutating function would copy the
  /// state (compiler 6.3).
  @inline(__always)
  mutating func mode(_ name: RunLoop.Mode) -> ModePointer? {
    defaultMode.isKnown(as: name) ? defaultMode : find(name)
  }

  /// A loop with more modes than this finds them by a table.
  private static let mostSearchedModes = 16

  private mutating func find(_ name: RunLoop.Mode) -> ModePointer? {
    if modes.count > Self.mostSearchedModes, let extras { return extras.mode(name, among: modes) }
    for mode in modes where mode.isKnown(as: name) { return mode }
    for mode in modes where mode.name == name {
      mode.noteFound(by: name)
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
    name.explainMistake()
    let mode = ModePointer.make(name: name, isCommon: commonNames.contains(name))
    modes.append(mode)
    if modes.count > Self.mostSearchedModes { _ = makeExtras() }
    return mode
  }

  mutating func isCommon(_ name: RunLoop.Mode) -> Bool { mode(name)?.isCommon ?? commonNames.contains(name) }

  /// All common modes. If only a mode's name was made common so far, makes the mode, because a common item has to enter
  /// it (A20 in docs/semantics.md).
  mutating func makeCommonModes() -> [ModePointer] {
    for name in commonNames.sorted(by: { $0.rawValue < $1.rawValue }) { _ = makeMode(name) }
    return modes.filter { $0.isCommon }
  }

  /// The names of the modes among these links, in the order in which the modes were made.
  func names(of links: ItemLinks) -> [RunLoop.Mode] {
    modes.filter { mode in links.contains { $0.mode == mode } }.map { $0.name }
  }
}
