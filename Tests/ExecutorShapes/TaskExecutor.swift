/// Each requirement, and the tasks that prefer it.
final class Shape: SerialExecutor, TaskExecutor, @unchecked Sendable {
  func enqueue(_ job: consuming ExecutorJob) {
    let unowned = UnownedJob(job)
    unowned.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    ExecutorJob(unowned).runSynchronously(on: asUnownedTaskExecutor())
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
  func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }
}

func use(_ executor: any TaskExecutor) async {
  let task: Task<Int, Never> = Task(executorPreference: executor, priority: .high) { 1 }
  let detached: Task<Int, Never> = Task.detached(executorPreference: executor, priority: .low) { 2 }
  let sum: Int = await withTaskExecutorPreference(executor) { await task.value + detached.value }
  _ = sum
}
