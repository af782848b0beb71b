import RunLoopKit
import RunLoopTesting
import Testing

/// What a loop counts, and what tolerances save: in virtual time.
@Suite struct StatisticsTests {
  @Test func theLoopCountsWhatItDoes() async {
    await #expect(processExitsWith: .success) { try Bodies.theLoopCountsWhatItDoes() }
  }

  @Test func anotherThreadReadsWhatALoopIsDoing() async {
    await #expect(processExitsWith: .success) { try Bodies.anotherThreadReadsWhatALoopIsDoing() }
  }

  @Test func tolerancesSaveWakes() async {
    await #expect(processExitsWith: .success) { try Bodies.tolerancesSaveWakes() }
  }

  @Test func anExactTimersWakeIsNotSaved() async {
    await #expect(processExitsWith: .success) { try Bodies.anExactTimersWakeIsNotSaved() }
  }
}
