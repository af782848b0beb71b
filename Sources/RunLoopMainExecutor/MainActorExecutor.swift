import RunLoopKit
internal import Synchronization

extension RunLoop {
  /// Puts the main actor on the main run loop, or into the hands of the program that owns the main thread. Without it
  /// the main actor's jobs are functions of the main dispatch queue, which the main loop serves
  /// (`RunLoop.servesMainQueue`).
  ///
  /// ```swift
  /// @main struct Program {
  ///   static func main() throws {
  ///     try RunLoop.MainActorExecutor.install()  // first of all
  ///     Task { @MainActor in … }
  ///     try RunLoop.MainActorExecutor.run()
  ///   }
  /// }
  /// ```
  ///
  /// `install()` makes `RunLoop.main.executor` the main actor's executor [RLK-MAINEXEC-1]: all that holds for jobs of
  /// that executor holds for the main actor's. In particular, in a run of the main loop that a job of the main actor
  /// nests, no other job of it runs. Each callout of the main loop is isolated to the main actor.
  ///
  /// `install(hostedBy:)` is for hosts such as GTK, Qt and SDL, which run the main thread: the host calls `drain()`
  /// when it was told to.
  ///
  /// The toolchain's interface for custom main executors is not public in 6.3, and other versions change it: with
  /// another compiler, and without the package's trait `MainExecutor`, the module can be imported, and the functions
  /// that install are unavailable.
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

    /// - Throws: What keeps `state` from being the first, and `check`'s.
    func set(_ new: State, _ check: () throws(RunLoopError) -> Void) throws(RunLoopError) {
      try lock.withLock { () throws(RunLoopError) in
        guard state == nil else { throw .mainExecutorInstalled }
        try check()
        state = new
      }
    }
  }

  /// Makes the main loop's executor the main actor's, for the whole process and for good.
  ///
  /// - Throws: A `RunLoopError`: `.mainActorInUse` if the runtime has made its own executors before, which it does for
  ///   the first task of the process, and for the first question about the main actor's executor [RLK-MAINEXEC-2];
  ///   `.mainExecutorInstalled` at the second call; `.wrongThread` on another thread than the main one. After an error
  ///   the main actor is as it was.
  /// - Thread: The main thread, before any other thread uses tasks: a task that another thread makes during the call is
  ///   not noticed. - Blocks: No.
  #if !CUSTOM_MAIN_EXECUTORS
    @available(
      *, unavailable,
      message:
        "custom main executors need the trait MainExecutor and a compiler 6.3; RunLoop.main serves the main actor without"
    )
  #endif
  @available(*, noasync, message: "a task is too late: call it first of all in a synchronous main")
  public static func install() throws {
    let loop = RunLoop.main
    guard loop.isCurrent else { throw RunLoopError.wrongThread(call: "install()") }
    try state.set(.loops(loop), checkIsFirst)
    Toolchain.install(loop.executor)
  }

  /// Has a host run the main actor's jobs: the host calls `drain()` on the main thread after it was told to.
  ///
  /// - Parameter wake: Called when the first job has come since the last `drain()` [RLK-MAINEXEC-4]: on the thread that
  ///   has enqueued the job, with no lock held, also inside of `drain()`. Called again after a `drain()` inside of
  ///   which another one was refused, if jobs wait. It may come although `drain()` has taken the jobs meanwhile. It has
  ///   the host's loop call `drain()` soon, and must not do so itself. Retained for ever.
  /// - Throws: As `install()`.
  /// - Thread: The main thread, as for `install()`. - Blocks: No.
  #if !CUSTOM_MAIN_EXECUTORS
    @available(
      *, unavailable,
      message:
        "custom main executors need the trait MainExecutor and a compiler 6.3; RunLoop.main serves the main actor without"
    )
  #endif
  @available(*, noasync, message: "a task is too late: call it first of all in a synchronous main")
  public static func install(hostedBy wake: @escaping @Sendable () -> Void) throws {
    guard RunLoop.main.isCurrent else { throw RunLoopError.wrongThread(call: "install(hostedBy:)") }
    let executor = HostedExecutor(wake)
    try state.set(.hosted(executor), checkIsFirst)
    Toolchain.install(executor)
  }

  private static func checkIsFirst() throws(RunLoopError) {
    if Toolchain.usesPlatformExecutors { throw .mainActorInUse }
  }

  /// Whether one of the functions that install has succeeded. - Thread: Any.
  public static var isInstalled: Bool { state.current != nil }

  /// Whether the calling thread runs the main actor's jobs, so that `MainActor.assumeIsolated` succeeds. False as long
  /// as nothing is installed [RLK-MAINEXEC-6].
  /// - Thread: Any.
  public static var isIsolated: Bool {
    switch state.current {
    case .loops(let loop): loop.executor.isIsolatingCurrentContext() ?? false
    case .hosted(let executor): executor.isOnItsThread
    case nil: false
    }
  }

  /// Runs the main loop in the default mode until `stop()`, also while it has no members [RLK-MAINEXEC-3].
  ///
  /// - Throws: A `RunLoopError`: `.mainExecutorNotInstalled`; `.mainActorHosted` in a hosted process [RLK-MAINEXEC-5];
  ///   else as `RunLoop.runUntilStopped(in:)`.
  /// - Thread: The main thread. - Re-entry: Allowed from callouts. From a job of the main actor, too; no other job of
  ///   it runs meanwhile. - Blocks: Until then.
  @available(*, noasync, message: "it blocks its thread: call it from a synchronous main")
  public static func run() throws { try drive() }

  /// Runs the main loop in the default mode until a condition is true, or until `stop()`, also while the loop has no
  /// members.
  ///
  /// - Parameter condition: Evaluated on the main thread, before the first pass and after each one; as for
  ///   `RunLoop.run(until:in:timeout:)`.
  /// - Throws: As `run()`.
  /// - Thread: The main thread. - Re-entry: As for `run()`. - Blocks: Until then.
  @available(*, noasync, message: "it blocks its thread: in a task, await what makes the condition true")
  public static func run(until condition: @autoclosure () -> Bool) throws { try drive(until: condition) }

  /// Ends the innermost run of the main loop. Nothing if there is none, or in a hosted process.
  /// - Thread: Any. - Blocks: No.
  public static func stop() {
    if case .loops(let loop) = state.current { loop.stop() }
  }

  /// Runs the main actor's jobs that wait now, those of a higher priority first, and leaves what they enqueue for the
  /// next call [RLK-MAINEXEC-4].
  ///
  /// - Returns: How many jobs it has run. Zero inside of a job of the main actor, for example in a dialog that runs the
  ///   host's loop: no other job runs before that one ends.
  /// - Throws: A `RunLoopError`: `.wrongThread`; `.mainExecutorNotInstalled`; `.mainActorNotHosted` after `install()`.
  /// - Thread: The main thread. - Blocks: Never for a job.
  @available(*, noasync, message: "the host of the main thread calls it, outside of tasks")
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

  // MARK: The runs, also for the runtime

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
