internal import CRunLoopTesting
import RunLoopKit
internal import RunLoopLibc

/// A thread of a virtual time that has a seed. It runs the jobs that no executor of a loop runs: those of tasks that
/// prefer no executor, and of actors without an executor of their own.
final class TaskThread: Sendable {
  private let thread: RunLoop.Thread
  private let turns: Turns

  /// A participant calls it.
  init(of turns: Turns) throws {
    guard TaskThread.isOffered else {
      throw RunLoopError.system(ENOSYS, call: "swift_task_enqueueGlobal_hook", "this Swift runtime has no such hook")
    }
    self.turns = turns
    thread = RunLoop.Thread(name: "virtual-tasks") { loop in try loop.add(RunLoop.Source { _ in }, to: .common) }
    try thread.start()
    turns.setPool(thread.loop?.executor)
  }

  /// After this call the runtime's default executor runs new jobs.
  func stop() {
    turns.setPool(nil)
    thread.stop(.now)
  }

  /// A participant calls it.
  func join() throws { try thread.join() }

  private static let isOffered = rlt_offer_jobs(takeJob)
}

/// The thread that enqueues a job calls it.
private func takeJob(_ job: UnsafeMutableRawPointer?) -> Bool {
  guard let job, let pool = (Kernel.current?.turns as? Turns)?.jobPool else { return false }
  pool.enqueue(unsafeBitCast(job, to: UnownedJob.self))
  return true
}
