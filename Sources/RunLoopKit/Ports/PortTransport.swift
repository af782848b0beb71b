/// Connects a port to other processes. RunLoopPorts implements it, and creates it with the port's first `PeerWatch`.
package protocol PortTransport: AnyObject, Sendable {
  /// Makes the port's hooks, which move the port's watches into the port's modes.
  func makeHooks() -> RunLoop.Source.Hooks
  /// The error if a loop cannot accept connections, or notice the loss of the name, in the port's modes.
  var refusal: (any Error)? { get }
  /// Called once when the port has ended, with no lock held.
  func mailboxHasEnded(_ mailbox: Mailbox)
}
