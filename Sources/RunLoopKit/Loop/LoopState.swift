/// The mutable state of a loop that any thread may need. Guarded by the loop's lock.
struct LoopState: ~Copyable {
  var modes: ContiguousArray<ModePointer>
  let defaultMode: ModePointer
  /// Names that are common without a mode of that name having been made yet (A20).
  var commonNames: Set<RunLoop.Mode> = []
  var commonItems = CommonItems()
  var currentMode: ModePointer?
  var blocks = BlockQueue()
  var delayedPerforms = DelayedPerforms()
  var companions = LoopCompanions()
  /// Grows with every membership.
  var lastStamp: UInt64 = 0
  /// Inside a function of the main queue, which is not entered again.
  var isInMainQueue = false
  /// Of the main loop: see `RunLoop.servesMainQueue`.
  var servesMainQueue = true
  /// The last callout is over: a companion that joins from now on is not told of the end. Here, where it takes no room.
  private(set) var companionsAreTold = false
  /// A block was withdrawn that is not in the queue: a drain may have it. Here, where it takes no room.
  var drainsHaveWithdrawnBlocks = false
  var idleModes = IdleModes()

  var callouts = CalloutRecord.Guarded()
  /// What few loops have.
  private(set) var extras: LoopExtras?

  var collectedTimers = CollectedTimers()

  init() {
    defaultMode = .make(name: .default, isCommon: true)
    modes = [defaultMode]
  }

  /// Those to be told of the end now.
  mutating func endCompanions() -> [any LoopCompanion] {
    companionsAreTold = true
    return companions.all
  }

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

  mutating func makeExtras() -> LoopExtras {
    if let extras { return extras }
    let made = LoopExtras()
    extras = made
    return made
  }

  /// Of a loop that ends: what it has counted stays.
  mutating func takeExtras(_ kernel: Kernel?) -> LoopExtras? {
    let taken = extras.take()
    extras = taken?.figures(kernel)
    return taken
  }

  mutating func nextStamp() -> UInt64 {
    lastStamp += 1
    return lastStamp
  }

  /// The names of the modes among these links, in the order in which the modes were made.
  func names(of links: ItemLinks) -> [RunLoop.Mode] {
    modes.filter { mode in links.contains { $0.mode == mode } }.map { $0.name }
  }

  /// The loop has ended.
  func closeDescriptors() {
    for mode in modes {
      mode.ports.destroy()
      mode.timers.destroy()
    }
  }

  deinit {
    for mode in modes { mode.destroy() }
  }
}
