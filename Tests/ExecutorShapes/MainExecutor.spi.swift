@_spi(ExperimentalCustomExecutors) import _Concurrency

/// A run loop's and a serial executor in one, and nothing more.
final class Shape: MainExecutor, @unchecked Sendable {
  func enqueue(_ job: consuming ExecutorJob) {}
  func run() throws {}
  func runUntil(_ condition: () -> Bool) throws {}
  func stop() {}
}

func use(_ executor: any MainExecutor) -> (any RunLoopExecutor, any SerialExecutor, Bool) {
  (executor, executor, executor.isMainExecutor)
}
