// The only file that uses the toolchain's interface of custom main executors, which is not public in 6.3. When another
// toolchain changes it, scripts/executor-shapes finds that, and only this file has to follow.

#if CUSTOM_MAIN_EXECUTORS
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
  import RunLoopKit

  enum Toolchain {
    /// Whether the runtime has made its own executors. It does so for the first task, and when code first asks for the
    /// main actor's executor. Then jobs may have been enqueued on them.
    ///
    /// The runtime has no function that tells this. But once it has made its executors, it holds two references to
    /// them: as the platform's, and as those in use.
    static var usesPlatformExecutors: Bool { referenceCount(platformExecutor()) > 1 }

    /// Makes the runtime use this executor.
    static func install(_ executor: any MainExecutor) {
      InstalledFactory.installed = executor
      _createExecutors(factory: InstalledFactory.self)
    }

    static func install(_ hosted: HostedExecutor) { install(hosted as any MainExecutor) }

    static func install(_ executor: RunLoop.Executor) { install(executor as any MainExecutor) }

    /// Not inlined, so that no reference is left when it returns: `usesPlatformExecutors` counts references.
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

  /// A function of the Swift runtime: counts the strong references to an object.
  @_silgen_name("swift_retainCount")
  private func referenceCount(_ object: UnsafeMutableRawPointer) -> Int

  // The conformances to the standard library's protocols of main executors.

  @_spi(RunLoopMainExecutor) extension RunLoop.Executor: MainExecutor {
    /// For the main loop's executor: as `RunLoop.MainActorExecutor.run()`.
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

  /// Never called: the public functions that call it are unavailable.
  enum Toolchain {
    static var usesPlatformExecutors: Bool { true }
    static func install(_ hosted: HostedExecutor) {}
    static func install(_ executor: RunLoop.Executor) {}
  }

  extension HostedExecutor: SerialExecutor {}
#endif
