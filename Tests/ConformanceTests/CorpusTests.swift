import Testing

/// Every scenario of the corpus produces its trace, byte for byte, on the virtual clock.
@Suite struct CorpusTests {
  @Test(arguments: Corpus.own.names)
  func virtualTrace(_ name: String) throws {
    let expected = try #require(Corpus.own.expectedTrace(name), "no trace of \(name)")
    let outcome = Tool().run(["scenario", Corpus.own.scenarioPath(name), "--virtual"])
    let isHang = expected.hasSuffix("HANG\n")
    let difference = outcome.output == expected ? "" : Difference.between(expected, outcome.output)
    #expect(outcome.output == expected, "\(name) (- expected, + got)\n\(difference)\n\(outcome.complaint)")
    #expect(outcome.status == (isHang ? 3 : 0), "\(name): \(outcome.complaint)")
  }

  @Test func corpusIsThere() {
    #expect(Corpus.own.names.count >= 270)
  }

  /// The same trace every time, whatever else the machine does.
  @Test(arguments: ["nested-wake-for-outer", "source1-two-loops", "thread-kept-alive-by-port"])
  func virtualTimeIsDeterministic(_ name: String) {
    let path = Corpus.own.scenarioPath(name)
    let first = Tool().run(["scenario", path, "--virtual"]).output
    for _ in 0..<5 { #expect(Tool().run(["scenario", "--virtual", path]).output == first) }
  }
}
