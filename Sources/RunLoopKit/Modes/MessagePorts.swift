internal import Synchronization

extension ModeState {
  /// Read without the lock; with marks whose messages are gone.
  @inline(__always)
  var hasReadyPorts: Bool {
    guard let messagePorts else { return false }
    return messagePorts.pointee.hasReady
  }

  /// Nil if it never had one.
  @inline(__always)
  var messagePorts: UnsafeMutablePointer<MessagePorts>? {
    UnsafeMutableRawPointer(mutating: madePorts.load(ordering: .acquiring))?.assumingMemoryBound(to: MessagePorts.self)
  }

  /// How many passes serve all that its ports have now.
  var turns: Int {
    portCount + (messagePorts?.pointee.members.reduce(0) { $0 + $1.port.mailbox.count } ?? 0)
  }

  /// What the kernel may have to tell of, timers apart.
  var descriptorCount: Int { portCount - (messagePorts?.pointee.members.count ?? 0) }
}
