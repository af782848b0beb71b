@_spi(ExperimentalCustomExecutors) import _Concurrency

final class Shape: RunLoopExecutor, @unchecked Sendable {
  func enqueue(_ job: consuming ExecutorJob) {}
  func run() throws {}
  func runUntil(_ condition: () -> Bool) throws {}
  func stop() {}
}

func use(_ executor: any RunLoopExecutor) throws {
  try executor.run()
  try executor.runUntil { true }
  executor.stop()
}
