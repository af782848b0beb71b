import RunLoopKit
import RunLoopTesting
import Testing

/// Which callouts a loop tells of as slow, and for how long they have taken: in virtual time.
@Suite struct SlowCalloutTests {
  @Test func everyKindOfCalloutIsTold() async {
    await #expect(processExitsWith: .success) { try Bodies.everyKindOfCalloutIsTold() }
  }

  @Test func whatNestedRunsTakeIsTheirs() async {
    await #expect(processExitsWith: .success) { try Bodies.whatNestedRunsTakeIsTheirs() }
  }

  @Test func reportsBeginAndEndInCallouts() async {
    await #expect(processExitsWith: .success) { try Bodies.reportsBeginAndEndInCallouts() }
  }

  @Test func aReporterMayUseItsLoop() async {
    await #expect(processExitsWith: .success) { try Bodies.aReporterMayUseItsLoop() }
  }

  @Test func theSignalSourceThatIsCalledIsTold() async {
    await #expect(processExitsWith: .success) { try Bodies.theSignalSourceThatIsCalledIsTold() }
  }

  @Test func timedCalloutsAreNotCounted() async {
    await #expect(processExitsWith: .success) { try Bodies.timedCalloutsAreNotCounted() }
  }

  @Test func aLoopThatHasEndedTellsNothing() async {
    await #expect(processExitsWith: .success) { try Bodies.aLoopThatHasEndedTellsNothing() }
  }
}
