import Glibc
import RunLoopKit

/// Lets a loop's executor run what would run on the pool of the default executor: algorithms start tasks of their own
/// there, and what happens there is reality for a virtual clock.
///
/// By the runtime's hook for tests, which counts for the whole process.
func runGlobalJobs(on loop: RunLoop) {
  target = loop.executor
  guard let variable = dlsym(nil, "swift_task_enqueueGlobal_hook") else { fatalError("the runtime has no hook") }
  variable.assumingMemoryBound(to: Hook?.self).pointee = { job, _ in target?.enqueue(ExecutorJob(job)) }
}

private typealias Original = @convention(thin) (UnownedJob) -> Void
private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

/// Set once, before there is a second thread.
nonisolated(unsafe) private var target: RunLoop.Executor?
