import CRunLoopCore
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

  @Test func theVersionIsThatOfTheHeaders() {
    let outcome = Tool().run(["--version"])
    #expect(outcome.status == 0)
    #expect(outcome.output == "runloop \(RLC_VERSION_MAJOR).\(RLC_VERSION_MINOR).\(RLC_VERSION_PATCH)\n")
    #expect(outcome.complaint.isEmpty)
  }

  /// The usage would hide the line that says what was wrong.
  @Test(
    arguments: [
      (["frobnicate"], "runloop: unknown subcommand 'frobnicate' (see runloop --help)\n"),
      (["--frobnicate"], "runloop: unknown option '--frobnicate' (see runloop --help)\n"),
      (["scenario"], "runloop scenario: no scenario file (see runloop scenario --help)\n"),
      (["port"], "runloop port: 'serve' or 'send'? (see runloop port --help)\n"),
    ])
  func aMistakeIsToldInOneLine(_ arguments: [String], _ line: String) {
    #expect(Tool().run(arguments).complaint == line)
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

  @Test(arguments: ["inf", "nan", "0", "-1", "1e9", "twice"])
  func scalesBeyondTheirRangeExitWith2(_ scale: String) {
    let outcome = interpret("note never\n", environment: ["RLSCALE": scale])
    #expect(outcome.complaint == "runloop scenario: RLSCALE: '\(scale)' is no factor from 0.001 to 1000\n")
    #expect(outcome.output.isEmpty)
    #expect(outcome.status == 2)
  }

  @Test func runsWithoutEndWithinRunsAreAMistakeAndKeepTheTrace() {
    let outcome = interpret("block B\non B: perform B default; run default 0 no\nperform B default\nrun default 0 no\n")
    #expect(outcome.complaint == "FILE:2: error: runs are nested more than 200 deep\n")
    #expect(outcome.output.split(separator: "\n").count == 400)
    #expect(outcome.output.hasPrefix("run default\nblock B mode=default\nrun default\n"))
    #expect(outcome.status == 2)
  }

  @Test func aTraceWithoutEndIsAMistake() {
    let outcome = interpret(
      "repeat 1000000 : note a; note b\n", environment: ["RLSCALE": "30"])  // the limit is of lines, not of time
    #expect(outcome.complaint == "FILE:1: error: the trace has more than 1000000 lines\n")
    #expect(outcome.output.utf8.count == 7_000_000)
    #expect(outcome.status == 2)
  }

  @Test func aThreadThatComputesForEverIsAHangOnTheVirtualClockToo() {
    let outcome = interpret(
      "source1 S\nadd S default\nrepeat 1000000 : write S 1000000\n", environment: ["RLSCALE": "0.02"])
    #expect(outcome.output == "HANG\n")
    #expect(outcome.status == 3)
  }

  @Test(
    arguments: [
      ["help"], ["--version"], ["scenario", "--help"], ["scenario", "FILE"], ["scenario", "FILE", "--virtual"],
      ["port", "--help"],
    ])
  func lostOutputExitsWith1(_ arguments: [String]) {
    Files.withTemporaryFile("note lost\n") { path in
      checkLostOutput(arguments.map { $0 == "FILE" ? path : $0 })
    }
  }

  @Test func controlCharactersOfTheCommandLineAreShownByNumber() {
    let outcome = Tool().run(["scenario", "/nonexistent/\u{1B}[31m.rl"])
    #expect(outcome.complaint == "/nonexistent/\\x1b[31m.rl: cannot read: No such file or directory\n")
  }

  @Test func hangIsFoundInRealTime() {
    let outcome = interpret("source0 S\nwatchdog 50\nadd S default\nrunforever\n", isVirtual: false)
    #expect(outcome.output == "runforever\nHANG\n")
    #expect(outcome.status == 3)
  }
}

/// A tool whose output is lost says so, and does not answer 0.
func checkLostOutput(_ arguments: [String], environment: [String: String] = [:]) {
  for (target, reason) in [(Tool.Output.full, "No space left on device"), (.closed, "Bad file descriptor")] {
    let outcome = Tool().run(arguments, environment: environment, to: target)
    #expect(outcome.complaint == "runloop: standard output: \(reason)\n")
    #expect(outcome.status == 1)
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
