#if Service
  public import RunLoopKit
  public import ServiceLifecycle

  /// A resident thread with a run loop, as a service of a `ServiceGroup`.
  ///
  /// ```swift
  /// let clock = RunLoopService(name: "clock") { loop in
  ///   try loop.add(RunLoop.Timer(after: .zero, interval: .seconds(1)) { _ in print("tick") })
  /// }
  /// try await ServiceGroup(services: [clock], gracefulShutdownSignals: [.sigterm], logger: logger).run()
  /// ```
  ///
  /// What tells the service to end decides how its thread does:
  ///
  /// - A graceful shutdown stops it after due work: what is queued, signalled or due in the default mode at that moment
  ///   is done (`RunLoop.Thread.Ending.afterDueWork`).
  /// - Cancellation, also of a shutdown that takes the group too long, stops it now.
  /// - `fail(_:)` stops it now, too.
  ///
  /// The thread is over when `run()` returns, whatever ended it. A plain `stop()` of the thread's own run ends it
  /// without an order of the group, which counts as an unexpected end of a service.
  ///
  /// To run a group beside the main thread's loop, call `try RunLoop.main.run { try await group.run() }` instead.
  /// - Thread: Any, for all members.
  public final class RunLoopService: Service, CustomStringConvertible {
    /// The thread that serves the loop; to post to it: `service.thread.perform { … }`.
    public let thread: RunLoop.Thread
    private let failure = Failure()

    /// A service whose thread has not begun.
    ///
    /// - Parameters:
    ///   - name: For debuggers and /proc, cut to 15 bytes there.
    ///   - stackSize: In bytes; nil: the system's default.
    ///   - setUp: Called once on the thread before it takes work, with its loop: to add its items. What it throws,
    ///     `run()` throws.
    public init(
      name: String, stackSize: Int? = nil, setUp: @escaping @Sendable (RunLoop) throws -> Void = { _ in }
    ) {
      thread = RunLoop.Thread(name: name, stackSize: stackSize, setUp: setUp)
    }

    /// Starts the thread, and waits for its end.
    ///
    /// - Throws: What the set-up has thrown, or what `fail(_:)` was given. `CancellationError` if the task was
    ///   cancelled. A `RunLoopError`: `.alreadyStarted` if it was run before; `.system` if the system has no thread or
    ///   descriptor.
    /// - Blocks: No thread: it suspends the task. A callout that does not return keeps it from returning.
    public func run() async throws {
      // Not cancellable, and a stop before it would be of no thread: what tells it to end is heard when it has begun.
      try await thread.start()
      // Not cancelled with this task: the service is not over before its thread is.
      let end = Task { [thread] in try await thread.join() }
      try await withTaskCancellationHandler {
        try await withGracefulShutdownHandler {
          if failure.first != nil { thread.stop(.now) }  // it was called before there was a thread to stop
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

    /// Ends the service with an error: the thread stops now, and `run()` throws it. Callouts cannot throw; this is how
    /// they give up. The first error counts.
    ///
    /// - Re-entry: Allowed from callouts. - Blocks: No.
    public func fail(_ error: any Error) {
      failure.come(error)
      thread.stop(.now)
    }

    /// Its thread's name.
    public var description: String { "RunLoopService \"\(thread.name)\"" }
  }
#else
  /// Nothing without the trait `Service` of the package.
  @available(*, unavailable, message: "RunLoopService needs the trait Service: .package(…, traits: [\"Service\"])")
  public enum RunLoopService {}
#endif
