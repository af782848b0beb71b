/// The connections that bring a port messages from other processes; created with the first of them.
package protocol PortTransport: AnyObject, Sendable {
  /// Its connections go where the port goes.
  func makeHooks() -> RunLoop.Source.Hooks
  /// Why connections would not be accepted in the modes that the port is in.
  var refusal: (any Error)? { get }
  /// The port is gone. With no lock held.
  func mailboxHasEnded(_ mailbox: Mailbox)
}
