import Testing

/// What the environment switches on in every program.
@Suite struct ToolDiagnosticsTests {
  private func run(_ environment: [String: String]) -> Tool.Outcome {
    let script = "run unknown 0 no\nrun unknown 0 no\n"
    return Files.withTemporaryFile(script) { Tool().run(["scenario", "--virtual", $0], environment: environment) }
  }

  @Test func theEnvironmentSwitchesThemOn() {
    let line =
      "RunLoopKit: run(in: \"unknown\"): the loop has no such mode, and the run is finished at once; "
      + "no mode has anything in it\n"
    let (off, on) = (run([:]), run(["RUNLOOPKIT_DIAGNOSTICS": "1"]))
    #expect(off.complaint == "" && off.status == 0)
    #expect(on.complaint == line)
    #expect(on.output == off.output && on.status == 0)
    #expect(run(["RUNLOOPKIT_DIAGNOSTICS": "0"]).complaint == "")
  }
}
