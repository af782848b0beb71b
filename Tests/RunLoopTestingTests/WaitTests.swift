import Glibc
import RunLoopKit
import RunLoopTesting
import Testing

/// The kit's own waits in virtual time.
@Suite struct WaitTests {
  @Test func aSetUpMayAdvanceTheClock() async {
    await #expect(processExitsWith: .success) { try WaitBodies.aSetUpMayAdvanceTheClock() }
  }

  @Test func aThreadOfTheKitTakesPartFromItsStart() async {
    await #expect(processExitsWith: .success) { try WaitBodies.aThreadOfTheKitTakesPartFromItsStart() }
  }

  @Test func joinTakesPartAndItsTimeoutIsVirtual() async {
    await #expect(processExitsWith: .success) { try WaitBodies.joinTakesPartAndItsTimeoutIsVirtual() }
  }

  @Test func performAndWaitTakesPartAndItsTimeoutIsVirtual() async {
    await #expect(processExitsWith: .success) { try WaitBodies.performAndWaitTakesPartAndItsTimeoutIsVirtual() }
  }

  @Test func invalidateAndWaitTakesPartAndItsTimeoutIsVirtual() async {
    await #expect(processExitsWith: .success) { try WaitBodies.invalidateAndWaitTakesPartAndItsTimeoutIsVirtual() }
  }

  @Test func aSendToAFullPortTakesPartAndItsDeadlineIsVirtual() async {
    await #expect(processExitsWith: .success) { try WaitBodies.aSendToAFullPortTakesPartAndItsDeadlineIsVirtual() }
  }

  @Test func aThreadThatTheSystemRefusesGivesItsPlaceBack() async {
    await #expect(processExitsWith: .success) { try WaitBodies.aThreadThatTheSystemRefusesGivesItsPlaceBack() }
  }

  @Test func aWaitThatVirtualTimeDoesNotKnowIsSaid() async throws {
    let result = try await #require(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      try WaitBodies.aWaitThatVirtualTimeDoesNotKnowIsSaid()
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("holds the turn: it runs, or waits in a way that virtual time does not know of"))
    #expect(text.contains("waits for the end of a thread (VirtualTime.Thread.join)"))
    #expect(text.contains("\"opener\""))
  }

  @Test func waitsThatNobodyEndsAreSaid() async throws {
    let result = try await #require(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      try WaitBodies.waitsThatNobodyEndsAreSaid()
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("waits for a block's turn (performAndWait)"))
    #expect(text.contains("\"deaf\" waits for an event of its loop"))
  }

  @Test func aReportEndsNothing() async {
    await #expect(processExitsWith: .success) { try WaitBodies.aReportEndsNothing() }
  }

  @Test func installAfterALoopIsRefused() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      WaitBodies.installAfterALoopIsRefused()
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("VirtualTime: this thread has made a run loop already, which keeps the system's clock and waits"))
  }
}
