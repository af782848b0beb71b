import Measuring
import Testing

@testable import benchmarks

@Suite struct TargetsTableTests {
  private func table(_ lines: String, _ series: [Series]) throws -> TargetsTable {
    TargetsTable(try Targets(text: lines).all, Summary(series))
  }

  private func series(_ subject: String, _ nanoseconds: Double) -> Series {
    var series = Series(
      workload: Workload("self_post", "", ""), subject: Subject.all.first { $0.name == subject }!)
    series.rounds[0] = Measurement(wireForm: "ns_per_op \(nanoseconds)")
    return series
  }

  @Test func whatIsAboveItsTargetIsNotListedAsReached() throws {
    let runs = [series("floor", 100), series("libev", 90), series("cf", 50), series("core", 110)]
    let table = try table(
      "self_post | core | x floor | 1.2 | -\nself_post | core | x libev | 1.2 | -\nself_post | core | x cf | 1.2 | -",
      runs)
    #expect(table.judged == 3)
    #expect(table.reached == 1)
    #expect(table.near == 1)
    #expect(
      table.text.hasSuffix("| self_post, core | x floor 1.10 (1.2) | x libev 1.22 (1.2) | x cf **2.20** (1.2) |\n"),
      "\(table.text)")
  }
}
