/// A job that waits, and how it was enqueued.
package struct PendingJob {
  package enum Origin: UInt8 {
    /// The runtime enqueued it for an actor.
    case ofActor
    /// The runtime enqueued it for a task that prefers the executor. The job's code belongs to no actor. If the
    /// executor ran it as an actor's job, the runtime would enqueue it again before it continues.
    case ofTask
    /// Its date has come. Its task may belong to another executor.
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
  /// A number that all jobs of a task share: the address of the task, or of what the runtime has put in its place.
  var task: UInt { unsafeBitCast(self, to: UInt.self) }
}
