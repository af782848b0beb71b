/// Each requirement, and what a loop calls of a job.
final class Shape: SerialExecutor, @unchecked Sendable {
  func enqueue(_ job: consuming ExecutorJob) {
    let unowned: UnownedJob = UnownedJob(job)
    let priority: UInt8 = unowned.priority.rawValue
    _ = priority
    unowned.runSynchronously(on: asUnownedSerialExecutor())
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
  func isSameExclusiveExecutionContext(other: Shape) -> Bool { self === other }
  func checkIsolated() {}
  func isIsolatingCurrentContext() -> Bool? { nil }
}

actor Pinned {
  nonisolated let shape = Shape()
  nonisolated var unownedExecutor: UnownedSerialExecutor { shape.asUnownedSerialExecutor() }
}

func use(_ executor: any SerialExecutor, _ pinned: Pinned) -> (any SerialExecutor)? {
  executor.checkIsolated()
  let isIsolating: Bool? = executor.isIsolatingCurrentContext()
  _ = isIsolating
  pinned.assertIsolated()
  return pinned.unownedExecutor.asSerialExecutor()
}
