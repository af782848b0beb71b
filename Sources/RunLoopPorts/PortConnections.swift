import RunLoopKit

/// The peer watches of one port. The first watch creates the object. The lock is a leaf.
final class PortConnections: PortTransport, @unchecked Sendable {
  private let lock = Lock()
  /// Guarded by `lock`.
  private var watches = IdentityTable<RunLoop.PeerWatch>()

  /// The hooks retain this object. They have no weak reference to the mailbox, because an object with weak references
  /// is slower to retain.
  func makeHooks() -> RunLoop.Source.Hooks {
    var hooks = RunLoop.Source.Hooks()
    let hasMoved: @Sendable (RunLoop, RunLoop.Mode) -> Void = { _, _ in self.hasMoved() }
    hooks.schedule = hasMoved
    hooks.cancel = hasMoved
    return hooks
  }

  /// Adds a watch. False if it is there already.
  func insert(_ watch: RunLoop.PeerWatch) -> Bool { lock.withLock { watches.insert(watch) } }

  func remove(_ watch: RunLoop.PeerWatch) {
    let gone = lock.withLock { watches.remove(watch) }
    withExtendedLifetime(gone) {}
  }

  var all: ContiguousArray<RunLoop.PeerWatch> { lock.withLock { watches.all } }

  /// The error if the port's modes cannot accept connections, or cannot notice the loss of the name.
  var refusal: (any Error)? {
    for watch in all where !(watch is Channel) {
      if let refusal = watch.followPorts() { return refusal }
    }
    return nil
  }

  private func hasMoved() { for watch in all { watch.followPorts() } }

  /// Notifies each watch that the port has ended.
  func mailboxHasEnded(_ mailbox: Mailbox) {
    let all = lock.withLock {
      defer { watches = IdentityTable() }
      return watches.all
    }
    for watch in all { watch.hasLost(mailbox) }
  }
}

extension Mailbox {
  /// The port's peer watches; nil before the first.
  var connections: PortConnections? { transport as? PortConnections }

  /// Adds a watch. False if it is there already.
  func connect(_ watch: RunLoop.PeerWatch) -> Bool {
    // Only this function creates a port's transport.
    (transport { PortConnections() } as! PortConnections).insert(watch)
  }

  func disconnect(_ watch: RunLoop.PeerWatch) { connections?.remove(watch) }
}
