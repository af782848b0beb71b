import RunLoopKit
import RunLoopTesting
import Testing

/// Rearmable timers, in virtual time.
@Suite struct RearmableTests {
  @Test func itFiresOnceForEachDateAndRests() async {
    await #expect(processExitsWith: .success) { try Bodies.itFiresOnceForEachDateAndRests() }
  }

  @Test func itsCalloutArmsItForAnyMoment() async {
    await #expect(processExitsWith: .success) { try Bodies.itsCalloutArmsItForAnyMoment() }
  }

  @Test func anotherThreadArmsItWhileTheLoopSleeps() async {
    await #expect(processExitsWith: .success) { try Bodies.anotherThreadArmsItWhileTheLoopSleeps() }
  }

  @Test func itRestsOnEveryClock() async {
    await #expect(processExitsWith: .success) { try Bodies.itRestsOnEveryClock() }
  }

  @Test func anIdleTimeoutIsPushedOutAsLongAsThereIsWork() async {
    await #expect(processExitsWith: .success) { try Bodies.anIdleTimeoutIsPushedOutAsLongAsThereIsWork() }
  }
}
