/// The mutable state of a loop that any thread may need. Guarded by the loop's lock.
struct LoopState: ~Copyable {
  var modes: ContiguousArray<ModePointer>
  let defaultMode: ModePointer
  /// Names that were made common. Their modes may not exist yet (A20).
  var commonNames: Set<RunLoop.Mode> = []
  var commonItems = CommonItems()
  var currentMode: ModePointer?
  var blocks = BlockQueue()
  var delayedPerforms = DelayedPerforms()
  var companions = LoopCompanions()
  /// Increases with each membership that begins.
  var lastStamp: UInt64 = 0
  /// True while a function of the main queue runs. Runs nested in that function do not serve the queue.
  var isInMainQueue = false
  /// See `RunLoop.servesMainQueue`. Only the main loop uses it.
  var servesMainQueue = true
  /// True once the loop has notified its companions of its end. This field and the next stand here because they fit
  /// into padding.
  private(set) var companionsAreNotified = false
  /// True once a block was withdrawn that was no longer in the queue. A drain may hold that block.
  var drainsHaveWithdrawnBlocks = false
  var idleModes = IdleModes()

  var callouts = CalloutRecord.Guarded()
  private(set) var extras: LoopExtras?

  var collectedTimers = CollectedTimers()

  init() {
    defaultMode = .make(name: .default, isCommon: true)
    modes = [defaultMode]
  }

  /// Returns the companions that the loop has to notify of its end. It will not notify companions that come later.
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

  /// Takes the extras out of a loop that ends. Its statistics remain readable.
  mutating func takeExtras(_ kernel: Kernel?) -> LoopExtras? {
    let taken = extras.take()
    extras = taken?.figures(kernel)
    return taken
  }

  mutating func nextStamp() -> UInt64 {
    lastStamp += 1
    return lastStamp
  }

  /// Closes the descriptors of all modes, because the loop has ended.
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
