import Testing

/// What the tool answers to mistakes on its command line, and the exit statuses.
@Suite struct CommandLineTests {
  @Test func helpIsNoError() {
    for arguments in [["--help"], ["help"], ["help", "scenario"], ["scenario", "--help"]] {
      let outcome = Tool().run(arguments)
      #expect(outcome.status == 0)
      #expect(outcome.output.hasPrefix("usage: runloop"))
      #expect(outcome.complaint.isEmpty)
    }
  }

  @Test(
    arguments: [
      ([], "usage: runloop"),
      (["frobnicate"], "unknown subcommand 'frobnicate'"),
      (["--frobnicate"], "unknown option '--frobnicate'"),
      (["help", "frobnicate"], "unknown subcommand 'frobnicate'"),
      (["scenario"], "no scenario file"),
      (["scenario", "a.rl", "b.rl"], "more than one file: 'b.rl'"),
      (["scenario", "a.rl", "--fast"], "unknown option '--fast'"),
      (["scenario", "/nonexistent/a.rl"], "/nonexistent/a.rl: cannot read: No such file or directory"),
    ])
  func mistakesExitWith2(_ arguments: [String], _ text: String) {
    let outcome = Tool().run(arguments)
    #expect(outcome.status == 2)
    #expect(outcome.output.isEmpty)
    #expect(outcome.complaint.contains(text), "\(outcome.complaint)")
  }

  @Test func hangExitsWith3AfterTheTraceSoFar() {
    let outcome = interpret("source0 S\nwatchdog 100\nadd S default\nnote before\nrunforever\nnote after\n")
    #expect(outcome.output == "note before\nrunforever\nHANG\n")
    #expect(outcome.status == 3)
  }

  @Test func hangIsFoundInRealTime() {
    let outcome = interpret("source0 S\nwatchdog 50\nadd S default\nrunforever\n", isVirtual: false)
    #expect(outcome.output == "runforever\nHANG\n")
    #expect(outcome.status == 3)
  }
}

/// Runs a scenario given as text.
func interpret(_ text: String, isVirtual: Bool = true, environment: [String: String] = [:]) -> Tool.Outcome {
  Files.withTemporaryFile(text) { path in
    var outcome = Tool().run(["scenario", path] + (isVirtual ? ["--virtual"] : []), environment: environment)
    outcome.complaint = outcome.complaint.split(separator: path, omittingEmptySubsequences: false).joined(
      separator: "FILE")
    return outcome
  }
}
