/// What a send right names: one object for each thing that can be sent to, so that rights are equal by identity.
///
/// A mailbox, the answer to a request, or a port of another process.
package protocol Destination: AnyObject, Sendable {
  /// All or nothing. With no lock held.
  func send(_ message: RunLoop.Message, _ timeout: SendTimeout) throws(RunLoopError)
  /// The same for a task, which waits without its thread. Nil if the message has been sent; else it waits for room:
  /// `whenOver` is called once, perhaps before the return, or not at all if the withdrawal has answered true.
  func send(_ message: RunLoop.Message, whenOver: @escaping SendEnd) throws(RunLoopError) -> SendWithdrawal?
  var isValid: Bool { get }
  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation
  /// Where its messages wait, if it is a port of this process. Whoever sends to that holds this object meanwhile.
  var mailbox: Mailbox? { get }
  /// For descriptions.
  var words: String { get }
}

extension Destination {
  package var mailbox: Mailbox? { nil }

  package var words: String { "a port" }

  /// For what has room, or is gone.
  package func send(_ message: RunLoop.Message, whenOver: @escaping SendEnd) throws(RunLoopError) -> SendWithdrawal? {
    try send(message, .none)
    return nil
  }
}

/// How long a send may wait for room.
package enum SendTimeout {
  case none
  case until(Deadline)
  case forever
}

/// What a send of a task has come to. Called once, with no lock held, unless the send was withdrawn before.
package typealias SendEnd = @Sendable (Result<Void, any Error>) -> Void

/// Withdraws a send that waits: true if it was not sent, will not be, and nobody is told of its end.
package typealias SendWithdrawal = @Sendable () -> Bool
