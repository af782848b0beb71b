import RunLoopKit
import RunLoopTesting
import Testing

/// Timers on the suspending, the continuous and the wall clock, in virtual time.
@Suite struct ClockTests {
  @Test func suspendTellsTheClocksApart() async {
    await #expect(processExitsWith: .success) { try Bodies.suspendTellsTheClocksApart() }
  }

  @Test func timeDoesNotGoBackAndDoesNotOverflow() async {
    await #expect(processExitsWith: .success) { Bodies.timeDoesNotGoBackAndDoesNotOverflow() }
  }

  @Test func theMachineSleepsWhileTheLoopDoes() async {
    await #expect(processExitsWith: .success) { try Bodies.theMachineSleepsWhileTheLoopDoes() }
  }

  @Test func theWallClockIsSetBack() async {
    await #expect(processExitsWith: .success) { try Bodies.theWallClockIsSetBack() }
  }

  @Test func theWallClockIsSetForward() async {
    await #expect(processExitsWith: .success) { try Bodies.theWallClockIsSetForward() }
  }

  @Test func aDateInThePastStaysADateOfTheWallClock() async {
    await #expect(processExitsWith: .success) { try Bodies.aDateInThePastStaysADateOfTheWallClock() }
  }

  @Test func aWallTimerThatSetsItselfToThePast() async {
    await #expect(processExitsWith: .success) { try Bodies.aWallTimerThatSetsItselfToThePast() }
  }

  @Test func aCalloutSetsTheWallClockBack() async {
    await #expect(processExitsWith: .success) { try Bodies.aCalloutSetsTheWallClockBack() }
  }

  @Test func aDateOfTheCalloutCountsThoughTheClockIsSetBack() async {
    await #expect(processExitsWith: .success) { try Bodies.aDateOfTheCalloutCountsThoughTheClockIsSetBack() }
  }

  @Test func timersOfAllClocksFireInTheOrderOfBeingDue() async {
    await #expect(processExitsWith: .success) { try Bodies.timersOfAllClocksFireInTheOrderOfBeingDue() }
  }

  @Test func equallyLateTimersFireInTheOrderOfTheirClocks() async {
    await #expect(processExitsWith: .success) { try Bodies.equallyLateTimersFireInTheOrderOfTheirClocks() }
  }

  @Test func aNestedRunServesTheRestOfAllClocks() async {
    await #expect(processExitsWith: .success) { try Bodies.aNestedRunServesTheRestOfAllClocks() }
  }

  @Test func whatACalloutMovesKeepsTheOrderOfSetting() async {
    await #expect(processExitsWith: .success) { try Bodies.whatACalloutMovesKeepsTheOrderOfSetting() }
  }

  @Test func aClocksTimersBelongToTheirModes() async {
    await #expect(processExitsWith: .success) { try Bodies.aClocksTimersBelongToTheirModes() }
  }

  @Test func anotherThreadMovesADateOfASleepingLoop() async {
    await #expect(processExitsWith: .success) { try Bodies.anotherThreadMovesADateOfASleepingLoop() }
  }

  @Test func neverEarlyWhateverTheClocksDo() async {
    await #expect(processExitsWith: .success) { try Bodies.neverEarlyWhateverTheClocksDo() }
  }
}
