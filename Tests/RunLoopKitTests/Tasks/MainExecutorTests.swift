import RunLoopKit
import Testing

import class RunLoopKit.RunLoop

/// The main actor's executor, of which a process installs one: each case is a process, `main-executor CASE`.
@Suite struct MainExecutorTests {
  private static let isSupported = runProgram("main-executor", []).output == "supported\n"

  private func pass(_ name: String) {
    let (status, output) = runProgram("main-executor", [name])
    #expect(status == 0 && output == "ok\n", "\(name), status \(status): \(output)")
  }

  @Test(.enabled(if: isSupported, "the compiler's interface of custom main executors is not known"))
  func test_RLK_MAINEXEC_1_theMainActorIsOnTheMainLoop() {
    pass("loop")
    pass("nested")
    pass("body")
  }

  @Test(
    .enabled(if: isSupported, "the compiler's interface of custom main executors is not known"),
    arguments: ["task-first", "main-actor-first", "twice", "elsewhere"])
  func test_RLK_MAINEXEC_2_tooLateIsAnError(name: String) { pass(name) }

  @Test(
    .enabled(if: isSupported, "the compiler's interface of custom main executors is not known"),
    arguments: ["runs", "condition", "none", "stopped-elsewhere", "runtime", "empty", "ended"])
  func test_RLK_MAINEXEC_3_runsOfTheMainActor(name: String) { pass(name) }

  @Test(
    .enabled(if: isSupported, "the compiler's interface of custom main executors is not known"),
    arguments: ["hosted", "hosted-many", "hosted-dialog", "hosted-after-dialog", "hosted-wake", "crowd"])
  func test_RLK_MAINEXEC_4_aHostDrains(name: String) { pass(name) }

  @Test(.enabled(if: isSupported, "the compiler's interface of custom main executors is not known"))
  func test_RLK_MAINEXEC_5_noRunIsHosted() {
    pass("hosted-errors")
    pass("errors")
  }

  /// The main actor's jobs that a run of the main loop leaves to the host.
  @Test(
    .enabled(if: isSupported, "the compiler's interface of custom main executors is not known"),
    arguments: ["unserved", "unserved-nested", "unserved-in-job"])
  func test_RLK_TASK_5_jobsOfAHostAreReportedThoughTheLoopSleeps(name: String) { pass(name) }

  /// Of both kinds, and without any.
  @Test(
    .enabled(if: isSupported, "the compiler's interface of custom main executors is not known"),
    arguments: ["loop", "elsewhere", "none", "hosted-callback"])
  func test_RLK_MAINEXEC_6_whoIsIsolated(name: String) { pass(name) }

  @Test(.enabled(if: isSupported, "the compiler's interface of custom main executors is not known"))
  func test_RLK_MAINEXEC_6_aCheckOnAnotherThreadEndsTheProcess() {
    let (status, output) = runProgram("main-executor", ["hosted-check"])
    #expect(status != 0 && output.contains("RunLoopKit: this is not the main actor's thread"), "\(status): \(output)")
  }
}
