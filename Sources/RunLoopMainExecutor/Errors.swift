import RunLoopKit

extension RunLoopError.Domain {
  /// The domain of the errors below, which concern the main actor's executor.
  public static let mainExecutor = RunLoopError.Domain(rawValue: "RunLoopMainExecutor")
}

extension RunLoopError {
  /// The main actor has its executor already: a task was made before, or code asked for the main actor's executor.
  public static let mainActorInUse = RunLoopError(
    .mainExecutor, code: 1,
    "the runtime has made its executors; install this one first of all in a synchronous main, before the first task")
  /// The main actor has an executor of this module already.
  public static let mainExecutorInstalled = RunLoopError(
    .mainExecutor, code: 2, "the main actor's executor was installed before; a process installs it once")
  /// The call needs an executor that was not installed.
  public static let mainExecutorNotInstalled = RunLoopError(
    .mainExecutor, code: 3, "the main actor has the runtime's own executor; call install() first of all")
  /// A host runs the main actor's jobs.
  public static let mainActorHosted = RunLoopError(
    .mainExecutor, code: 4, "a host runs the main actor's jobs, by drain(); no run loop does")
  /// No host runs the main actor's jobs: the main run loop does.
  public static let mainActorNotHosted = RunLoopError(
    .mainExecutor, code: 5, "the main run loop runs the main actor's jobs; drain() is for install(hostedBy:)")
}
