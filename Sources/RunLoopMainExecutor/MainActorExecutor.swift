import RunLoopKit
internal import Synchronization

extension RunLoop {
  /// Lets the main run loop, or a host that owns the main thread, run the main actor's jobs. Otherwise these jobs are
  /// functions of the main dispatch queue, which the main loop serves (`RunLoop.servesMainQueue`).
  ///
  /// ```swift
  /// try RunLoop.MainActorExecutor.install()  // first of all
  /// Task { @MainActor in
  ///   print("a job of the main loop")  // prints a job of the main loop
  ///   RunLoop.MainActorExecutor.stop()
  /// }
  /// try RunLoop.MainActorExecutor.run()
  /// ```
  ///
  /// `install()` makes `RunLoop.main.executor` the main actor's executor [RLK-MAINEXEC-1]. The rules for jobs of that
  /// executor then apply to the main actor's jobs. In particular, if a job of the main actor runs the main loop, no
  /// other job of the main actor runs meanwhile. Each callout of the main loop is isolated to the main actor.
  ///
  /// `install(hostedBy:)` is for hosts such as GTK, Qt and SDL, which run the main thread: the host calls `drain()`
  /// when it is notified.
  ///
  /// The toolchain's interface for custom main executors is not public in 6.3, and other versions change it. With
  /// another compiler, or without the package's trait `MainExecutor`, a program can import the module, but the
  /// `install` functions are unavailable.
  public enum MainActorExecutor {}
}

extension RunLoop.MainActorExecutor {
  private enum State {
    case loops(RunLoop)
    case hosted(HostedExecutor)
  }

  private static let state = Installed()

  private final class Installed: Sendable {
    private let lock = Lock()
    /// Guarded by `lock`.
    nonisolated(unsafe) private var state: State?

    var current: State? { lock.withLock { state } }

    /// - Throws: `.mainExecutorInstalled` if a state was set before, and what `check` throws.
    func set(_ new: State, _ check: () throws(RunLoopError) -> Void) throws(RunLoopError) {
      try lock.withLock { () throws(RunLoopError) in
        guard state == nil else { throw .mainExecutorInstalled }
        try check()
        state = new
      }
    }
  }

  /// Makes the main loop's executor the main actor's executor, for the rest of the process.
  ///
  /// - Throws: A `RunLoopError`: `.mainActorInUse` if the runtime has made its own executors before, which it does for
  ///   the first task of the process, and when code first asks for the main actor's executor [RLK-MAINEXEC-2];
  ///   `.mainExecutorInstalled` at the second call; `.wrongThread` on another thread than the main one. After an error
  ///   the main actor has the executor that it had before.
  /// - Thread: The main thread, before any other thread uses tasks: the call does not notice a task that another thread
  ///   makes meanwhile. - Blocks: No.
  #if !CUSTOM_MAIN_EXECUTORS
    @available(
      *, unavailable,
      message:
        "custom main executors need the trait MainExecutor and a compiler 6.3; RunLoop.main serves the main actor without"
    )
  #endif
  @available(*, noasync, message: "a task is too late: call it first of all, in a main without a top-level await")
  public static func install() throws {
    let loop = RunLoop.main
    guard loop.isCurrent else { throw RunLoopError.wrongThread(call: "install()") }
    try state.set(.loops(loop), checkIsFirst)
    Toolchain.install(loop.executor)
  }

  /// Makes a host run the main actor's jobs: the host calls `drain()` on the main thread after each notification.
  ///
  /// - Parameter wake: Notifies the host. Called when the first job since the last `drain()` is enqueued
  ///   [RLK-MAINEXEC-4], on the thread that enqueues it, with no lock held, also inside of `drain()`. Called again
  ///   after a `drain()` in which a job has called `drain()` in vain, if jobs wait. `drain()` may have taken the jobs
  ///   before `wake` is called. The closure must make the host's loop call `drain()` soon, and must not call it itself.
  ///   Retained for ever.
  /// - Throws: As `install()`.
  /// - Thread: The main thread, as for `install()`. - Blocks: No.
  #if !CUSTOM_MAIN_EXECUTORS
    @available(
      *, unavailable,
      message:
        "custom main executors need the trait MainExecutor and a compiler 6.3; RunLoop.main serves the main actor without"
    )
  #endif
  @available(*, noasync, message: "a task is too late: call it first of all, in a main without a top-level await")
  public static func install(hostedBy wake: @escaping @Sendable () -> Void) throws {
    guard RunLoop.main.isCurrent else { throw RunLoopError.wrongThread(call: "install(hostedBy:)") }
    let executor = HostedExecutor(wake)
    try state.set(.hosted(executor), checkIsFirst)
    Toolchain.install(executor)
  }

  private static func checkIsFirst() throws(RunLoopError) {
    if Toolchain.usesPlatformExecutors { throw .mainActorInUse }
  }

  /// Whether an `install` function has succeeded.
  ///
  /// - Thread: Any.
  public static var isInstalled: Bool { state.current != nil }

  /// Whether the calling thread runs the main actor's jobs, so that `MainActor.assumeIsolated` succeeds. False until an
  /// executor is installed [RLK-MAINEXEC-6].
  /// - Thread: Any.
  public static var isIsolated: Bool {
    switch state.current {
    case .loops(let loop): loop.executor.isIsolatingCurrentContext() ?? false
    case .hosted(let executor): executor.isOnItsThread
    case nil: false
    }
  }

  /// Runs the main loop in the default mode until `stop()`, even if the mode has no members [RLK-MAINEXEC-3].
  ///
  /// - Throws: A `RunLoopError`: `.mainExecutorNotInstalled`; `.mainActorHosted` in a hosted process [RLK-MAINEXEC-5];
  ///   else as `RunLoop.runUntilStopped(in:)`.
  /// - Thread: The main thread. - Re-entry: Allowed from callouts, and from a job of the main actor; no other job of
  ///   the main actor runs meanwhile. - Blocks: Until `stop()`.
  @available(*, noasync, message: "it blocks its thread: call it in a main without a top-level await")
  public static func run() throws { try drive() }

  /// Runs the main loop in the default mode until a condition is true, or until `stop()`, even if the mode has no
  /// members.
  ///
  /// - Parameter condition: Evaluated on the main thread, before the first pass and after each one; as for
  ///   `RunLoop.run(until:in:timeout:)`.
  /// - Throws: As `run()`.
  /// - Thread: The main thread. - Re-entry: As for `run()`. - Blocks: Until the condition is true, or `stop()`.
  @available(*, noasync, message: "it blocks: in a task, or a main with a top-level await, await what makes it true")
  public static func run(until condition: @autoclosure () -> Bool) throws { try drive(until: condition) }

  /// Ends the innermost run of the main loop. Does nothing without a run, and in a hosted process.
  /// - Thread: Any. - Blocks: No.
  public static func stop() {
    if case .loops(let loop) = state.current { loop.stop() }
  }

  /// Runs the main actor's jobs that are queued now, those of a higher priority first. Jobs that are enqueued meanwhile
  /// wait for the next call [RLK-MAINEXEC-4].
  ///
  /// - Returns: The number of jobs that it has run. Zero if a job of the main actor makes the call, for example in a
  ///   dialog that runs the host's loop: no other job runs before that one ends.
  /// - Throws: A `RunLoopError`: `.wrongThread`; `.mainExecutorNotInstalled`; `.mainActorNotHosted` after `install()`.
  /// - Thread: The main thread. - Blocks: No; it runs jobs, and waits for none.
  @available(*, noasync, message: "for the main thread's host, not in a task or a main with a top-level await")
  @discardableResult
  public static func drain() throws -> Int {
    switch state.current {
    case .hosted(let executor):
      guard executor.isOnItsThread else { throw RunLoopError.wrongThread(call: "drain()") }
      return executor.drain()
    case .loops: throw RunLoopError.mainActorNotHosted
    case nil: throw RunLoopError.mainExecutorNotInstalled
    }
  }

  // MARK: Runs, which the runtime begins too (Toolchain.swift)

  static func drive() throws { try loopToRun().runUntilStopped() }

  static func drive(until condition: () -> Bool) throws {
    let loop = try loopToRun()
    guard loop.isCurrent || loop.hasEnded else { throw RunLoopError.wrongThread(call: "run(until:)") }
    let keeper = RunLoop.Source { _ in }
    keeper.isHidden = true
    try loop.add(keeper)
    defer { keeper.invalidate() }
    _ = try loop.run(until: condition())
  }

  private static func loopToRun() throws -> RunLoop {
    switch state.current {
    case .loops(let loop): return loop
    case .hosted: throw RunLoopError.mainActorHosted
    case nil: throw RunLoopError.mainExecutorNotInstalled
    }
  }
}
