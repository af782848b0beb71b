@_spi(ExperimentalCustomExecutors) import _Concurrency

enum Shape: ExecutorFactory {
  static var mainExecutor: any MainExecutor { PlatformExecutorFactory.mainExecutor }
  static var defaultExecutor: any TaskExecutor { PlatformExecutorFactory.defaultExecutor }
}

func use(_ factory: any ExecutorFactory.Type) -> (any MainExecutor, any TaskExecutor) {
  (factory.mainExecutor, factory.defaultExecutor)
}
