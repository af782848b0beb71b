/// A part of a task that waits for its turn, and who has enqueued it.
package struct PendingJob {
  package enum Origin: UInt8 {
    /// The runtime, for an actor.
    case ofActor
    /// The runtime, for a task that prefers the executor: its code belongs to no actor, and where it is told that it
    /// ran on one, it would be enqueued anew before it goes on.
    case ofTask
    /// A date that has come: another executor, which the task belongs to, had the job wait.
    case afterDelay
  }

  package let job: UnownedJob
  package let origin: Origin

  package init(_ job: UnownedJob, _ origin: Origin) {
    self.job = job
    self.origin = origin
  }
}

extension UnownedJob {
  /// All jobs of a task have the same: the address of its object, or of what the runtime has put in its place.
  @inline(__always)
  var task: UInt { unsafeBitCast(self, to: UInt.self) }
}
