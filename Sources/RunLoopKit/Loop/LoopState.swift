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
  private(set) var companionsAreNotified = false
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
    companionsAreNotified = true
    return companions.all
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
