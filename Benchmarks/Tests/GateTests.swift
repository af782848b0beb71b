import Measuring
import Testing

@testable import benchmarks

@Suite struct GateTests {
  private func sample(_ value: Double, of operations: Double = 1000) -> Gate.Sample {
    Gate.Sample(value: value, operations: operations)
  }

  @Test func instructionsMayBeOnePercentMore() {
    #expect(Gate.holds(.instructions, 100, sample(101), varies: false))
    #expect(!Gate.holds(.instructions, 100, sample(101.1), varies: false))
    #expect(!Gate.holds(.bytes, 100, sample(101.1), varies: false))
  }

  @Test func chanceHasItsShareOfInstructions() {
    #expect(Gate.holds(.instructions, 100, sample(105), varies: true))
    #expect(!Gate.holds(.instructions, 100, sample(105.1), varies: true))
  }

  @Test func aCallMorePerOperationIsTooMuch() {
    #expect(Gate.holds(.systemCalls, 3, sample(3.002), varies: false))
    #expect(!Gate.holds(.systemCalls, 3, sample(4), varies: false))
    #expect(!Gate.holds(.systemCalls, 0, sample(0.02), varies: false))
    #expect(!Gate.holds(.allocations, 0, sample(1), varies: false))
  }

  @Test func aTargetIsReachedWithoutAShare() {
    #expect(Gate.reaches(.instructions, 100, sample(100)))
    #expect(!Gate.reaches(.instructions, 100, sample(101)))
  }

  @Test func theGateIsWhatWasMeasured() {
    #expect(Gate.recorded(.instructions, target: 100, sample(80), varies: false) == 80)
    #expect(Gate.recorded(.instructions, target: 100, sample(80), varies: true) == 80)
    #expect(Gate.recorded(.instructions, target: 100, sample(123.4), varies: false) == 124)
    #expect(Gate.recorded(.instructions, target: nil, sample(1234.5), varies: false) == 1240)
    #expect(Gate.recorded(.systemCalls, target: 3, sample(3.003), varies: false) == 3)
    #expect(Gate.recorded(.bytes, target: 96, sample(96.1), varies: false) == 96)
  }

  @Test func whatIsRecordedLetsItsOwnSamplePass() {
    let reached = Gate.Sample(value: 3.003, operations: 4000)
    #expect(Gate.reaches(.systemCalls, 3, reached))
    let gate = Gate.recorded(.systemCalls, target: 3, reached, varies: false)
    #expect(gate == 3.01)
    #expect(Gate.holds(.systemCalls, gate, reached, varies: false))
  }

  @Test func aTargetThatIsReachedIsTheGateWhereChanceHasAPart() {
    #expect(Gate.recorded(.systemCalls, target: 2.5, sample(2.1), varies: true) == 2.5)
    #expect(Gate.recorded(.systemCalls, target: 2.5, sample(2.71), varies: true) == 2.71)
  }

  @Test func roundingUpKeepsThreeDigits() {
    #expect(Gate.roundedUp(0) == 0)
    #expect(Gate.roundedUp(0.0431) == 0.0431)
    #expect(Gate.roundedUp(12345) == 12400)
    #expect(Gate.roundedUp(300) == 300)
  }

  @Test func aLineIsReadAndWritten() throws {
    let line = "wake_rtt same             | core    | instructions/item | 600    | 853"
    let target = try #require(try Target(line: line))
    #expect(target.figure == .count(.instructionsPerItem))
    #expect(target.gate == 853)
    #expect(target.line == line)
    #expect(try Target(line: "iter 10 | overlay | x cf /item | 0.35 | -")?.figure == .timesPerItem("cf"))
    #expect(try Target(line: "# a comment") == nil)
  }

  @Test func wrongLinesAreErrors() {
    #expect(throws: Failure.self) { try Target(line: "iter 0 | core | speed | 1 | 1") }
    #expect(throws: Failure.self) { try Target(line: "iter 0 | core | syscalls | one | 1") }
    #expect(throws: Failure.self) { try Targets(text: "iter 11 | core | syscalls | 1 | 1") }
    #expect(throws: Failure.self) { try Targets(text: "iter 0 | libuv | syscalls | 1 | 1") }
  }

  @Test func recordingKeepsWhatItDoesNotKnow() throws {
    var targets = try Targets(text: "# head\niter 0 | core | syscalls | 1 | -\niter 0 | core | x cf | 0.1 | -\n")
    targets.record { $0.figure == .count(.systemCalls) ? 1 : nil }
    #expect(targets.all.map(\.gate) == [1, nil])
    #expect(targets.text.hasPrefix("# head\n"))
  }

  @Test func aDocumentHasPlaces() throws {
    let text = "a\n<!-- targets -->\nold\n<!-- /targets -->\nb\n"
    #expect(
      try Document.replacing("targets", in: text, with: "new\n") == "a\n<!-- targets -->\nnew\n<!-- /targets -->\nb\n")
    #expect(throws: Failure.self) { try Document.replacing("growth", in: text, with: "") }
  }
}
