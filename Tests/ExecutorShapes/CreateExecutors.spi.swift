@_spi(ExperimentalCustomExecutors) import _Concurrency

/// How a factory is installed, and what is asked for what was installed.
func use() -> (any MainExecutor, any TaskExecutor) {
  let install: (PlatformExecutorFactory.Type) -> Void = _createExecutors(factory:)
  install(PlatformExecutorFactory.self)
  return (MainActor.executor, Task<Never, Never>.defaultExecutor)
}
