internal import CRunLoopTesting
import RunLoopKit
internal import RunLoopLibc

/// The thread of a virtual time with a seed that runs what no executor of a loop does: tasks that prefer none, and
/// actors that are pinned to nothing.
final class TaskThread: Sendable {
  private let thread: RunLoop.Thread
  private let turns: Turns

  /// By a participant.
  init(of turns: Turns) throws {
    guard TaskThread.isOffered else {
      throw RunLoopError.system(ENOSYS, call: "swift_task_enqueueGlobal_hook", "this Swift runtime has no such hook")
    }
    self.turns = turns
    thread = RunLoop.Thread(name: "virtual-tasks") { loop in try loop.add(RunLoop.Source { _ in }, to: .common) }
    try thread.start()
    turns.setPool(thread.loop?.executor)
  }

  /// What is enqueued from now on, the default executor runs.
  func stop() {
    turns.setPool(nil)
    thread.stop(.now)
  }

  /// By a participant.
  func join() throws { try thread.join() }

  private static let isOffered = rlt_offer_jobs(takeJob)
}

/// On whatever thread enqueues a job.
private func takeJob(_ job: UnsafeMutableRawPointer?) -> Bool {
  guard let job, let pool = (Kernel.current?.turns as? Turns)?.jobPool else { return false }
  pool.enqueue(unsafeBitCast(job, to: UnownedJob.self))
  return true
}
