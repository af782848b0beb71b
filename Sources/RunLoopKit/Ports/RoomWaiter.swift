/// A connection that holds a message for a full port.
package protocol RoomWaiter: AnyObject, Sendable {
  /// Called when there may be room, or the port has ended; with no lock held.
  func wake(from mailbox: Mailbox)
}
