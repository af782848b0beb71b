// The one file that uses the toolchain's own interface of custom main executors, which is not public in 6.3: what
// another toolchain changes is mended here, and found by scripts/executor-shapes.

#if CUSTOM_MAIN_EXECUTORS
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
  import RunLoopKit

  enum Toolchain {
    /// Whether the runtime has made its own executors, which it does for the first task, and for the first question
    /// about the main actor's executor: from then on jobs may be on their way to them.
    ///
    /// The runtime does not tell. But it keeps its executors twice then: as the platform's, and as those that it uses.
    static var usesPlatformExecutors: Bool { referenceCount(platformExecutor()) > 1 }

    /// What the runtime uses from now on.
    static func install(_ executor: any MainExecutor) {
      InstalledFactory.installed = executor
      _createExecutors(factory: InstalledFactory.self)
    }

    static func install(_ hosted: HostedExecutor) { install(hosted as any MainExecutor) }

    static func install(_ executor: RunLoop.Executor) { install(executor as any MainExecutor) }

    /// No reference is held when it returns.
    @inline(never)
    private static func platformExecutor() -> UnsafeMutableRawPointer {
      Unmanaged.passUnretained(PlatformExecutorFactory.mainExecutor as AnyObject).toOpaque()
    }
  }

  private enum InstalledFactory: ExecutorFactory {
    /// Written once, before the factory is used.
    nonisolated(unsafe) static var installed: (any MainExecutor)?

    static var mainExecutor: any MainExecutor { installed ?? PlatformExecutorFactory.mainExecutor }
    static var defaultExecutor: any TaskExecutor { PlatformExecutorFactory.defaultExecutor }
  }

  /// Of the Swift runtime: how many strong references there are to an object.
  @_silgen_name("swift_retainCount")
  private func referenceCount(_ object: UnsafeMutableRawPointer) -> Int

  // What the standard library calls `MainActor.executor`.

  @_spi(RunLoopMainExecutor) extension RunLoop.Executor: MainExecutor {
    /// Of the main loop's executor: as `RunLoop.MainActorExecutor.run()`.
    public func run() throws { try RunLoop.MainActorExecutor.drive() }

    /// As `RunLoop.MainActorExecutor.run(until:)`.
    public func runUntil(_ condition: () -> Bool) throws { try RunLoop.MainActorExecutor.drive(until: condition) }

    /// As `RunLoop.MainActorExecutor.stop()`.
    public func stop() { RunLoop.MainActorExecutor.stop() }
  }

  @_spi(RunLoopMainExecutor) extension RunLoop.Executor: SchedulingExecutor {}

  extension HostedExecutor: MainExecutor {
    func run() throws { throw RunLoopError.mainActorHosted }
    func runUntil(_ condition: () -> Bool) throws { throw RunLoopError.mainActorHosted }
    func stop() {}
  }
#else
  import RunLoopKit

  /// The functions that lead here are unavailable.
  enum Toolchain {
    static var usesPlatformExecutors: Bool { true }
    static func install(_ hosted: HostedExecutor) {}
    static func install(_ executor: RunLoop.Executor) {}
  }

  extension HostedExecutor: SerialExecutor {}
#endif
