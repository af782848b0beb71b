/// A part of a task that waits for its turn, and whether it is isolated to its executor.
package struct PendingJob {
  package let job: UnownedJob
  /// The runtime has enqueued it for an actor. If not, for a task that prefers the executor: its code belongs to no
  /// actor, and where it is told that it ran on one, it would be enqueued anew before it goes on.
  package let isIsolated: Bool

  package init(_ job: UnownedJob, isIsolated: Bool) {
    self.job = job
    self.isIsolated = isIsolated
  }

  /// To its next suspension, on the executor's thread.
  @inline(__always)
  func run(on executor: RunLoop.Executor) {
    let task = executor.asUnownedTaskExecutor()
    if isIsolated {
      job.runSynchronously(isolatedTo: executor.asUnownedSerialExecutor(), taskExecutor: task)
    } else {
      job.runSynchronously(on: task)
    }
  }
}
