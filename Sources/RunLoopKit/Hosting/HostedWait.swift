/// A wait of a host for the loop: from `prepareToWait` to `runPendingWork`, or to its end without one. [loop]
///
/// It is a frame like a run's, in one mode. It has no place on the stack, since the host sleeps after
/// `prepareToWait` has returned; so it ends at the latest when the callout in which it was begun returns.
struct HostedWait {
  enum Phase {
    /// `prepareToWait` has begun, or has found work.
    case open
    /// Observers are being notified by a call of the host.
    case telling
    /// `prepareToWait` has notified before-waiting, and after-waiting has not been notified since.
    case asleep
  }

  let mode: ModePointer
  /// Where the run lies in one of whose callouts the host waits; 0: outside of all runs.
  let parent: UInt
  /// What the wait was begun for; nil: a call without a `LoopHosting`.
  var host: ObjectIdentifier?
  var phase = Phase.open
  /// Its host has left, from inside of a callout: the wait ends when that has returned.
  var hasLeft = false
  /// While observers are being notified.
  var telling: Telling?

  /// The current mode before.
  let outerMode: ModePointer?
  /// What was asked of the run around it (rule 20).
  let stopAround: UInt64
  /// Of the wait around it: one in whose course the host runs the loop itself.
  let outerWakes: Wakes.OfHost
}

/// What is put back if an exception or longjmp(3) leaves an observer that a host's call notifies (decision 0041).
struct Telling {
  /// Where the call lies on the stack.
  let place: UInt
  /// Where the scope of the observers begins in the thread's scopes.
  let scope: Int
  /// The item in whose callout the host calls; 0: none.
  let callout: UInt
  /// How many there were on the stack then.
  let enclosingCallouts: Int
  let timedCallouts: Int
}
