/// What a send right names. There is one object for each receiver, so rights are equal if their objects are identical.
///
/// The receiver is a mailbox, a request that awaits its answer, or a port of another process.
package protocol Destination: AnyObject, Sendable {
  /// Sends all of the message, or throws and sends nothing. Call it with no lock held.
  func send(_ message: RunLoop.Message, _ timeout: SendTimeout) throws(RunLoopError)
  /// Sends for a task, without blocking the thread. Returns nil if the message has been sent. Otherwise the message
  /// waits for room, and `whenOver` is called once: perhaps before this returns, and never if the withdrawal has
  /// returned true.
  func send(_ message: RunLoop.Message, whenOver: @escaping SendEnd) throws(RunLoopError) -> SendWithdrawal?
  var isValid: Bool { get }
  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation
  /// The mailbox, if the receiver is a port of this process. A caller that sends to the mailbox retains this object
  /// during the send.
  var mailbox: Mailbox? { get }
  /// What descriptions call the receiver.
  var words: String { get }
}

extension Destination {
  package var mailbox: Mailbox? { nil }

  package var words: String { "a port" }

  /// Sends at once, or throws: for receivers that never wait for room.
  package func send(_ message: RunLoop.Message, whenOver: @escaping SendEnd) throws(RunLoopError) -> SendWithdrawal? {
    try send(message, .none)
    return nil
  }
}

/// How long a send waits for room.
package enum SendTimeout {
  case none
  case until(Deadline)
  case forever
}

/// Receives the result of a task's send. Called once, with no lock held, unless the send was withdrawn before.
package typealias SendEnd = @Sendable (Result<Void, any Error>) -> Void

/// Withdraws a send that waits for room. If it returns true, the message will not be sent, nor the `SendEnd` called.
package typealias SendWithdrawal = @Sendable () -> Bool
