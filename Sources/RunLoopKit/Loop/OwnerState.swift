/// The mutable state of a loop that only the loop's thread uses, without a lock. It is not part of `LoopState`, because
/// Swift counts a change of one field as an access to the whole struct.
struct OwnerState: ~Copyable {
  /// The first field: `RunLoop.innermostRun` finds it at the address of the struct.
  private var innermostRun = Activation.State()
  /// For how many polls in a row the loop has only read the clock.
  var skippedPolls: UInt8 = 0
  static let mostSkippedPolls: UInt8 = 63
  private(set) var runs: UInt64 = 0
  /// The scopes of the loop's thread. Set when the thread gets the loop.
  var scopes: ScopeStack?
  var mainQueue = MainQueueWatch()
  var spin = Spin()
  var times = CalloutTimes()
  var drain = BlockDrain()
  /// The innermost block on the stack whose caller waits for it in another thread.
  var awaitedCall: Unmanaged<CallOnStack>?
  /// The item that the loop serves next, in place of the item that has called `serveNext`.
  var successor: RunLoop.Item?
  var failedWaits = FailedWaits()
  /// The signalled sources that the passes on the stack have collected. Those of the innermost pass come last.
  var collectedSources: ContiguousArray<CollectedSource> = []
  /// The waits of hosts; nil if the loop never had a host.
  var hosted: HostedWaits?
  var hasHostedWait = false
  /// True while `hosted` holds an event that a pass has to serve.
  var holdsHostedEvent = false
  /// True if the loop's runs may sleep in the host.
  var sleepsInHost = false

  /// Returns a new serial, for a run that begins.
  mutating func nextRun() -> UInt64 {
    runs += 1
    return runs
  }
}
