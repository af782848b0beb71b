import RunLoopTesting
import Testing

/// What a user of RunLoopTesting would test: docs/guide/testing.md.
@Suite struct ServiceTests {
  @Test func retryWithBackoff() async {
    await #expect(processExitsWith: .success) { try ServiceBodies.retryWithBackoff() }
  }

  @Test func debounce() async {
    await #expect(processExitsWith: .success) { try ServiceBodies.debounce() }
  }

  @Test func watchdog() async {
    await #expect(processExitsWith: .success) { try ServiceBodies.watchdog() }
  }

  @Test func groupCommit() async {
    await #expect(processExitsWith: .success) { try ServiceBodies.groupCommit() }
  }

  @Test func gracefulShutdown() async {
    await #expect(processExitsWith: .success) { try ServiceBodies.gracefulShutdown() }
  }
}
