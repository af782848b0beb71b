import RunLoopKit
import RunLoopTesting
import Testing

/// Display links, commits, idle work, all modes in turn: in virtual time.
@Suite struct PatternTests {
  @Test func framesLieOnAGridThatDoesNotMove() async {
    await #expect(processExitsWith: .success) { try Bodies.framesLieOnAGridThatDoesNotMove() }
  }

  @Test func aDefaultToleranceDelaysNoFrame() async {
    await #expect(processExitsWith: .success) { try Bodies.aDefaultToleranceDelaysNoFrame() }
  }

  @Test func idleWorkThatRunsTheLoopLetsItSleep() async {
    await #expect(processExitsWith: .success) { try Bodies.idleWorkThatRunsTheLoopLetsItSleep() }
  }

  @Test func lateFramesAreDroppedAndCounted() async {
    await #expect(processExitsWith: .success) { try Bodies.lateFramesAreDroppedAndCounted() }
  }

  @Test func aLinkPausesAndResumesOnItsGrid() async {
    await #expect(processExitsWith: .success) { try Bodies.aLinkPausesAndResumesOnItsGrid() }
  }

  @Test func aLinkRestsInOtherModesAndChangesItsRate() async {
    await #expect(processExitsWith: .success) { try Bodies.aLinkRestsInOtherModesAndChangesItsRate() }
  }

  @Test func aCommitIsDoneOnceBeforeTheLoopSleeps() async {
    await #expect(processExitsWith: .success) { try Bodies.aCommitIsDoneOnceBeforeTheLoopSleeps() }
  }

  @Test func aCommitThatIsNeededLateIsNotSleptOver() async {
    await #expect(processExitsWith: .success) { try Bodies.aCommitThatIsNeededLateIsNotSleptOver() }
  }

  @Test func idleWorkWaitsForAQuietPass() async {
    await #expect(processExitsWith: .success) { try Bodies.idleWorkWaitsForAQuietPass() }
  }

  @Test func idleWorkThatAsksForItselfLetsTheLoopSleep() async {
    await #expect(processExitsWith: .success) { try Bodies.idleWorkThatAsksForItselfLetsTheLoopSleep() }
  }

  @Test func allModesInTurn() async {
    await #expect(processExitsWith: .success) { try Bodies.allModesInTurn() }
  }

  @Test func allModesInTurnAreRefusedOnASignalStack() async {
    await #expect(processExitsWith: .success) { try Bodies.allModesInTurnAreRefusedOnASignalStack() }
  }
}
