/// Has something for a port that is full.
package protocol RoomWaiter: AnyObject, Sendable {
  /// There may be room. With no lock held.
  func wake(from mailbox: Mailbox)
}
