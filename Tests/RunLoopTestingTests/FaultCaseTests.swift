import RunLoopKit
import RunLoopTesting
import Testing

/// Cases of docs/fault-cases.md that are about time and order, in virtual time. The numbers are those of that list.
@Suite struct FaultCaseTests {
  @Test func case32DatesThatHaveCome() async {
    await #expect(processExitsWith: .success) { try Bodies.case32DatesThatHaveCome() }
  }

  @Test func case34HugeDatesAndIntervals() async {
    await #expect(processExitsWith: .success) { try Bodies.case34HugeDatesAndIntervals() }
  }

  @Test func case46NowAfterALongCallout() async {
    await #expect(processExitsWith: .success) { try Bodies.case46NowAfterALongCallout() }
  }

  @Test func case54ImmediateAndScheduledWorkOfOneMoment() async {
    await #expect(processExitsWith: .success) { try Bodies.case54ImmediateAndScheduledWorkOfOneMoment() }
  }

  @Test func case58AnEventOfAnotherOrderMeanwhile() async {
    await #expect(processExitsWith: .success) { try Bodies.case58AnEventOfAnotherOrderMeanwhile() }
  }

  @Test func case60ACommonItemAddedInAPrivateMode() async {
    await #expect(processExitsWith: .success) { try Bodies.case60ACommonItemAddedInAPrivateMode() }
  }
}
