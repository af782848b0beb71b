import RunLoopKit
import Testing

/// The order of messages among everything else, in virtual time.
@Suite struct PortTests {
  @Test func messagesTakeTheirTurnInThePass() async {
    await #expect(processExitsWith: .success) { try PortBodies.messagesTakeTheirTurnInThePass() }
  }

  @Test func messagesWaitForTheirMode() async {
    await #expect(processExitsWith: .success) { try PortBodies.messagesWaitForTheirMode() }
  }

  @Test func aRequestEndsAtItsDeadline() async {
    await #expect(processExitsWith: .success) { try PortBodies.aRequestEndsAtItsDeadline() }
  }
}
