import RunLoopKit
import Testing

/// The order of what is performed, in virtual time.
@Suite struct PerformTests {
  @Test func delaysOfOneDateRunInTheOrderOfAsking() async {
    await #expect(processExitsWith: .success) { try PerformBodies.delaysOfOneDateRunInTheOrderOfAsking() }
  }

  @Test func aDelayOfZeroWaitsForTheNextTurnOfTheTimers() async {
    await #expect(processExitsWith: .success) { try PerformBodies.aDelayOfZeroWaitsForTheNextTurnOfTheTimers() }
  }

  @Test func delaysWaitForTheirModes() async {
    await #expect(processExitsWith: .success) { try PerformBodies.delaysWaitForTheirModes() }
  }

  @Test func blocksOfOneModeKeepTheirOrderAmongThoseOfOthers() async {
    await #expect(processExitsWith: .success) { try PerformBodies.blocksOfOneModeKeepTheirOrderAmongThoseOfOthers() }
  }

  @Test func onlyPerformWakesAndDelaysWakeByThemselves() async {
    await #expect(processExitsWith: .success) { try PerformBodies.onlyPerformWakesAndDelaysWakeByThemselves() }
  }
}
