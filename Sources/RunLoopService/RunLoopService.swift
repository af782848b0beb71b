#if Service
  public import RunLoopKit
  public import ServiceLifecycle

  /// A resident thread with a run loop, as a service of a `ServiceGroup`.
  ///
  /// <!-- not run: needs swift-service-lifecycle; scripts/packages tests the module -->
  /// ```swift
  /// let clock = RunLoopService(name: "clock") { loop in
  ///   try loop.add(RunLoop.Timer(after: .zero, interval: .seconds(1)) { _ in print("tick") })
  /// }
  /// try await ServiceGroup(services: [clock], gracefulShutdownSignals: [.sigterm], logger: logger).run()
  /// ```
  ///
  /// The cause of the service's end decides how its thread ends:
  ///
  /// - A graceful shutdown stops it after due work: the thread first does the work that is queued, signalled or due in
  ///   the default mode at that moment (`RunLoop.Thread.Ending.afterDueWork`).
  /// - Cancellation stops it now; the group also cancels when a shutdown takes too long.
  /// - `fail(_:)` stops it now.
  ///
  /// The thread has ended when `run()` returns, whatever the cause. A plain `stop()` of the thread's loop also ends the
  /// thread; the group treats that as an unexpected end of a service.
  ///
  /// To run a group beside the main thread's loop, call `try RunLoop.main.run { try await group.run() }` instead.
  /// - Thread: Any, for all members.
  public final class RunLoopService: Service, CustomStringConvertible {
    /// The thread that serves the loop. To post to it, call `service.thread.perform { … }`.
    public let thread: RunLoop.Thread
    private let failure = Failure()

    /// Makes a service whose thread is not started.
    ///
    /// - Parameters:
    ///   - name: The thread's name. Debuggers and /proc show its first 15 bytes.
    ///   - stackSize: In bytes; nil for the system's default.
    ///   - setUp: Adds the items of the thread's loop. Called once on the thread, before the thread accepts work. If it
    ///     throws, `run()` throws its error.
    public init(
      name: String, stackSize: Int? = nil, setUp: @escaping @Sendable (RunLoop) throws -> Void = { _ in }
    ) {
      thread = RunLoop.Thread(name: name, stackSize: stackSize, setUp: setUp)
    }

    /// Starts the thread, and waits for its end.
    ///
    /// - Throws: The error of the set-up, or the one that `fail(_:)` was given. `CancellationError` if the task was
    ///   cancelled. A `RunLoopError`: `.alreadyStarted` if the service was run before; `.system` if the system has no
    ///   thread or descriptor left.
    /// - Blocks: No thread: it suspends the task. It does not return while a callout runs.
    public func run() async throws {
      // The start cannot be cancelled: until it is over there is no thread to stop. If the service must end meanwhile,
      // the code below stops the thread.
      try await thread.start()
      // A separate task, which is not cancelled with this one: the service must not end before its thread.
      let end = Task { [thread] in try await thread.join() }
      try await withTaskCancellationHandler {
        try await withGracefulShutdownHandler {
          if failure.first != nil { thread.stop(.now) }  // `fail` was called before the thread was started
          try await end.value
        } onGracefulShutdown: {
          self.thread.stop(.afterDueWork)
        }
      } onCancel: {
        thread.stop(.now)
      }
      if let error = failure.first { throw error }
      try Task.checkCancellation()
    }

    /// Ends the service with an error: the thread stops now, and `run()` throws the error. Meant for callouts, which
    /// cannot throw. Only the first error counts.
    ///
    /// - Re-entry: Allowed from callouts. - Blocks: No.
    public func fail(_ error: any Error) {
      failure.come(error)
      thread.stop(.now)
    }

    /// The module's name and the thread's name.
    public var description: String { "RunLoopService \"\(thread.name)\"" }
  }
#else
  public import RunLoopKit

  /// Unavailable without the trait `Service` of the package.
  @available(*, unavailable, message: "RunLoopService needs the trait Service: .package(…, traits: [\"Service\"])")
  public struct RunLoopService {
    /// Unavailable like the type. Without this initializer the compiler would only report that there is none.
    @available(*, unavailable, message: "RunLoopService needs the trait Service: .package(…, traits: [\"Service\"])")
    public init(
      name: String, stackSize: Int? = nil, setUp: @escaping @Sendable (RunLoop) throws -> Void = { _ in }
    ) {}
  }
#endif
