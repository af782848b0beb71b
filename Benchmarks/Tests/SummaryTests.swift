import Measuring
import Testing

@testable import benchmarks

@Suite struct SummaryTests {
  private func series(_ subject: String, _ values: [Double]) -> Series {
    var series = Series(
      workload: Workload("self_post", "", ""), subject: Subject.all.first { $0.name == subject }!)
    for (round, value) in values.enumerated() { series.rounds[round] = Measurement(wireForm: "ns_per_op \(value)") }
    return series
  }

  @Test func medians() {
    #expect(Series.median([]) == nil)
    #expect(Series.median([3, 1, 2]) == 2)
    #expect(Series.median([4, 1, 2, 3]) == 2.5)
  }

  /// The second round was twice as slow for all: the ratio does not see it, the quotient of medians would.
  @Test func aRatioIsTheMedianOfTheRoundsRatios() {
    let summary = Summary([series("floor", [10, 20, 11]), series("overlay", [30, 60, 22])])
    let overlay = summary.cells.first { $0.subject.name == "overlay" }
    #expect(overlay?.value == 30)
    #expect(overlay?.ratioToFloor == 3)
  }

  @Test func theBestPeerIsTheBestOfEachRound() {
    let summary = Summary([
      series("floor", [1, 1, 1]), series("core", [10, 10, 10]), series("libuv", [5, 20, 40]),
      series("libev", [20, 5, 40]),
    ])
    let core = summary.cells.first { $0.subject.name == "core" }
    #expect(core?.ratioToBestPeer == 2)
    #expect(core?.ratios["libuv"] == 0.5)
  }

  @Test func aRoundThatFailedIsNotCompared() {
    var broken = series("core", [10, 10, 10])
    broken.rounds[1] = nil
    let summary = Summary([series("floor", [5, 1, 5]), broken])
    #expect(summary.cells.first { $0.subject.name == "core" }?.ratioToFloor == 2)
  }

  @Test func theWireFormComesBack() {
    let measurement = Measurement(wireForm: "ns_per_op 12.5\noperations 100.0\nnoise\n")
    #expect(measurement["ns_per_op"] == 12.5)
    #expect(Measurement(wireForm: measurement.wireForm).figures == measurement.figures)
  }

  @Test func figuresHaveThreeDigits() {
    #expect(Figure.time(1234) == "1.23us")
    #expect(Figure.plain(123.4) == "123")
    #expect(Figure.count(2) == "2")
    #expect(Figure.count(0.0157) == "0.016")
    #expect(Figure.signed(-3, Figure.count) == "-3")
  }
}
