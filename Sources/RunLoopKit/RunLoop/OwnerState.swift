/// The mutable state of a loop that only its own thread touches, without a lock. Apart from `LoopState`, since changing
/// one part of a Swift value counts as access to the whole.
struct OwnerState: ~Copyable {
  /// The innermost run.
  var activation: Activation?
  private var runs: UInt64 = 0
  /// The thread's.
  var scopes: ScopeStack?
  /// The main queue was signalled, and has not been looked at since.
  var isMainQueuePending = false
  var spin = Spin()
  var times = CalloutTimes()
  var drains = BlockDrains()
  /// On the stack: blocks that other threads wait for.
  var awaitedCalls = 0
  /// Polls that have not asked the kernel, since the last that has.
  var skippedLooks = 0
  static let mostSkippedLooks = 63
  /// Whose callouts are on the stack, of those that hold a descriptor of their own for them; the innermost one's last.
  var servedOwners: ContiguousArray<RunLoop.Item> = []
  /// Of waits that have failed, one soon after the other, and when the last one did.
  var failedWaits = 0
  var failedWaitAt: UInt64 = 0
  static let mostFailedWaits = 100
  /// Longer than that, in nanoseconds: then they are not one after the other.
  static let failuresLieApart: UInt64 = 10_000_000
  /// Of the wait that has ended a run; 0: none has.
  var waitFailure: Int32 = 0
  /// Signalled sources collected by the passes on the stack, the innermost one's last.
  var collectedSources: ContiguousArray<CollectedSource> = []
  var hostWait = HostWait.none
  /// What a hosted loop has found before its pass; events belong to their modes.
  var heldEvents: [(mode: ModePointer, event: PassEvent)] = []
  /// A stop reached a hosted loop before its `runPendingWork`.
  var isHostedStop = false

  /// How far the wait of a hosted loop is. In all but the first case wakes and stops are the host's.
  enum HostWait {
    /// `runPendingWork` has been called since `prepareToWait`, or neither of them.
    case none
    /// `prepareToWait` has begun, or has found work.
    case open
    /// Observers are being notified by one of the two.
    case telling
    /// `prepareToWait` has told before-waiting: `runPendingWork` owes after-waiting.
    case asleep
  }

  struct CollectedSource {
    let source: RunLoop.Source
    let signalStamp: UInt64
    let memberStamp: UInt64
  }

  /// A serial for a run that begins.
  @inline(__always)
  mutating func nextRun() -> UInt64 {
    runs += 1
    return runs
  }

  func hasHeldEvent(for mode: ModePointer) -> Bool { heldEvents.contains { $0.mode == mode } }

  @inline(__always)
  mutating func takeHeldEvent(for mode: ModePointer) -> PassEvent? {
    heldEvents.isEmpty ? nil : takeFirstHeldEvent(for: mode)
  }

  @inline(never)
  private mutating func takeFirstHeldEvent(for mode: ModePointer) -> PassEvent? {
    guard let index = heldEvents.firstIndex(where: { $0.mode == mode }) else { return nil }
    return heldEvents.remove(at: index).event
  }
}
