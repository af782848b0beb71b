/// The mutable state of a loop that only its own thread touches, without a lock. Apart from `LoopState`, since changing
/// one part of a Swift value counts as access to the whole.
struct OwnerState: ~Copyable {
  /// First: `RunLoop.innermostRun` is the way to it.
  private var innermostRun = Activation.State()
  /// Polls that have not asked the kernel, since the last that has.
  var skippedPolls: UInt8 = 0
  static let mostSkippedPolls: UInt8 = 63
  private(set) var runs: UInt64 = 0
  /// The thread's.
  var scopes: ScopeStack?
  var mainQueue = MainQueueWatch()
  var spin = Spin()
  var times = CalloutTimes()
  var drain = BlockDrain()
  /// On the stack: blocks that other threads wait for, the innermost one.
  var awaitedCall: Unmanaged<CallOnStack>?
  /// To be served in the turn of the item that has named it.
  var successor: RunLoop.Item?
  var failedWaits = FailedWaits()
  /// Signalled sources collected by the passes on the stack, the innermost one's last.
  var collectedSources: ContiguousArray<CollectedSource> = []
  /// Of a loop that has or had a host.
  var hosted: HostedWaits?
  /// One of its waits is open.
  var hasHostedWait = false
  /// It holds an event that is to be served.
  var holdsHostedEvent = false
  /// Its runs may sleep in the host.
  var sleepsInHost = false

  /// A serial for a run that begins.
  @inline(__always)
  mutating func nextRun() -> UInt64 {
    runs += 1
    return runs
  }
}
