import Testing

/// Some scenarios on the machine's clock: what virtual time replaces works too.
@Suite struct RealTimeTests {
  private static let names = [
    "activities-timer-then-source1", "block-self-requeue", "mainq-does-not-starve-ports",
    "nested-outer-timeout-swallowed",
    "pattern-resident-thread", "perform-block-is-no-source", "perform-source-ends-run", "perform-wait-on-thread",
    "source1-two-loops", "stop-other-loop", "thread-common-observer-destroyed",
    "thread-kept-alive-by-port", "timer-date-order", "timer-missed-are-skipped", "wake-other-thread-during-callback",
  ]

  @Test(arguments: Self.names)
  func realTimeTrace(_ name: String) throws {
    let expected = try #require(Corpus.own.expectedTrace(name), "no trace of \(name)")
    let output = trace(of: name)
    #expect(output == expected, "\(name) (- expected, + got)\n\(Difference.between(expected, output))")
  }

  private func trace(of name: String) -> String {
    Tool().run(["scenario", Corpus.own.scenarioPath(name)], environment: ["RLSCALE": "4"]).output
  }
}
