import Glibc
import RunLoopKit
import RunLoopTesting
import Testing

/// Virtual time is for a whole process and for ever: each test has a process of its own.
@Suite struct VirtualTimeTests {
  @Test func hoursPassInNoTime() async {
    await #expect(processExitsWith: .success) { try Bodies.hoursPassInNoTime() }
  }

  @Test func datesAreExact() async {
    await #expect(processExitsWith: .success) { try Bodies.datesAreExact() }
  }

  @Test func sleepServesNobodyButLetsTimersBecomeDue() async {
    await #expect(processExitsWith: .success) { try Bodies.sleepServesNobodyButLetsTimersBecomeDue() }
  }

  @Test func participantsTakeTurns() async {
    await #expect(processExitsWith: .success) { Bodies.participantsTakeTurns() }
  }

  @Test func joinWaitsForTheEndOfTheLoop() async {
    await #expect(processExitsWith: .success) { Bodies.joinWaitsForTheEndOfTheLoop() }
  }

  @Test func gateHasADeadline() async {
    await #expect(processExitsWith: .success) { Bodies.gateHasADeadline() }
  }

  @Test func otherThreadsWakeAnIdleLoop() async {
    await #expect(processExitsWith: .success) { try Bodies.otherThreadsWakeAnIdleLoop() }
  }

  @Test func deadlockIsReported() async {
    await #expect(processExitsWith: .exitCode(7)) { try Bodies.deadlockIsReported() }
  }

  @Test func spinningDoesNotStopTheClock() async {
    await #expect(processExitsWith: .success) { try Bodies.spinningDoesNotStopTheClock() }
  }

  @Test func leavingPassesTheTurnOn() async {
    await #expect(processExitsWith: .success) { Bodies.leavingPassesTheTurnOn() }
  }

  @Test func tickMovesTheClockWithEachReading() async {
    await #expect(processExitsWith: .success) { Bodies.tickMovesTheClockWithEachReading() }
  }
}
