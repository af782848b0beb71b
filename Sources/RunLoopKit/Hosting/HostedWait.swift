/// A wait of a host for the loop: from `prepareToWait` to `runPendingWork`, or until it ends without that call.
/// - Thread: The loop's own.
///
/// Each wait has one mode, and waits and runs nest in each other. Unlike a run, a wait has no frame on the stack, since
/// the host sleeps after `prepareToWait` has returned. It ends at the latest with the callout in which it was begun.
struct HostedWait {
  enum Phase {
    /// `prepareToWait` has begun, or has found work.
    case open
    /// A call of the host is notifying observers.
    case notifying
    /// The observers of before-waiting were notified, and those of after-waiting were not notified since.
    case asleep
  }

  let mode: ModePointer
  /// The place on the stack of the run in whose callout the host waits. 0 if the host waits outside of all runs.
  let parent: UInt
  /// The `LoopHosting` that has begun the wait. Nil if the host has none.
  var host: ObjectIdentifier?
  var phase = Phase.open
  /// True if the host has given the wait up, or `prepareToWait` has failed. The wait ends as soon as it is the
  /// innermost one of its callout and the host is not notifying observers.
  var hasLeft = false
  /// Set in the phase `notifying`.
  var notification: HostNotification?

  /// The loop's current mode before the wait. The end of the wait puts it back.
  let outerMode: ModePointer?
  /// The enclosing run's stop word. The end of the wait puts it back (rule 20).
  let stopAround: UInt64
  /// The wakes of the enclosing wait, if there is one. The end of this wait puts them back.
  let outerWakes: Wakes.OfHost
}

/// What the loop puts back if an exception leaves an observer that a host's call is notifying (decision 0041).
struct HostNotification {
  /// The place of the host's call on the stack.
  let place: UInt
  /// The height of the thread's scopes where the observers' scope begins.
  let scope: Int
  /// The item whose callout has made the host's call; 0 if no callout has made it.
  let callout: UInt
  /// How many callouts were on the stack before the call.
  let enclosingCallouts: Int
  /// How many callouts and runs on the stack were being timed before the call.
  let timedCallouts: Int
}
