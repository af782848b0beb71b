import Glibc
import RunLoopKit
import Testing

import class RunLoopKit.RunLoop

/// What is reported if nothing is set: the tests and the library are built alike.
private var levelOfBuild: RunLoop.Diagnostics.Level {
  #if DEBUG
    .hint
  #else
    .warning
  #endif
}

/// The thread may be stopped before its set-up, and after it. Not in an async function, as the calls block.
private func stopAThread(_ ending: RunLoop.Thread.Ending, isSetUp: Bool) throws {
  let thread = RunLoop.Thread(name: "stopped") { _ in }
  try thread.start()
  if isSetUp { try thread.loop?.performAndWait {} }
  thread.stop(ending)
  try thread.join()
}

/// What a process says only once, and the settings that it begins with, which it takes from the environment. Each of
/// these tests has a process of its own. `DiagnosisSettings()` is what a process begins with: the process of a test has
/// begun before the test changes the environment.
@Suite struct FirstDiagnosticsTests {
  @Test func test_RLK_DIAG_9_aRunOfTheCommonModesSaysOnceThatItIsNone() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
      endIfItHangs()
      for _ in 1...3 {
        try onOwnThread { (loop: RunLoop) throws in #expect(try loop.run(in: .common) == .finished) }
      }
    }
    let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
    #expect(
      lines.filter { $0.hasPrefix("RunLoopKit: ") } == [
        "RunLoopKit: a run loop cannot run in the common pseudo mode; this is printed once."
      ])
  }

  /// RunLoopKit stops the loop of a thread that is to end. Without a handler, whom another thread would call, perhaps
  /// after the end of the process.
  @Test func test_RLK_DIAG_12_aThreadThatIsStopped() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
      endIfItHangs()
      RunLoop.diagnostics.level = .hint
      for ending in [RunLoop.Thread.Ending.afterDueWork, .now] {
        for isSetUp in [false, true] { try stopAThread(ending, isSetUp: isSetUp) }
      }
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(!text.contains("RunLoopKit: "), "\(text)")
  }

  @Test func test_RLK_DIAG_10_atFirstTheBuildDecides() async {
    await #expect(processExitsWith: .success) {
      unsetenv("RUNLOOPKIT_DIAGNOSTICS")
      #expect(DiagnosisSettings().value.level == levelOfBuild)
      #expect(DiagnosisSettings().value.handler == nil)
    }
  }

  @Test func test_RLK_DIAG_10_theEnvironmentAsksForHints() async {
    await #expect(processExitsWith: .success) {
      setenv("RUNLOOPKIT_DIAGNOSTICS", "1", 1)
      #expect(DiagnosisSettings().value.level == .hint)
    }
  }

  @Test func test_RLK_DIAG_10_zeroAsksForNoHints() async {
    await #expect(processExitsWith: .success) {
      setenv("RUNLOOPKIT_DIAGNOSTICS", "0", 1)
      #expect(DiagnosisSettings().value.level == .warning)
    }
  }

  @Test func test_RLK_DIAG_10_anEmptyVariableIsNone() async {
    await #expect(processExitsWith: .success) {
      setenv("RUNLOOPKIT_DIAGNOSTICS", "", 1)
      #expect(DiagnosisSettings().value.level == levelOfBuild)
    }
  }
}
