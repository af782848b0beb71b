import RunLoopKit

/// Who brings a port messages from other processes; made with the first of them. The port's own loops never wait for
/// its lock.
final class PortConnections: PortTransport, @unchecked Sendable {
  private let lock = Lock()
  /// Guarded by `lock`.
  private var watches = IdentityTable<RunLoop.PeerWatch>()

  /// Has this object, not the mailbox: a weak reference to that would make each of its retains slow.
  func makeHooks() -> RunLoop.Source.Hooks {
    var hooks = RunLoop.Source.Hooks()
    let hasMoved: @Sendable (RunLoop, RunLoop.Mode) -> Void = { _, _ in self.hasMoved() }
    hooks.schedule = hasMoved
    hooks.cancel = hasMoved
    return hooks
  }

  /// False if it is among them already.
  func insert(_ watch: RunLoop.PeerWatch) -> Bool { lock.withLock { watches.insert(watch) } }

  func remove(_ watch: RunLoop.PeerWatch) {
    let gone = lock.withLock { watches.remove(watch) }
    withExtendedLifetime(gone) {}
  }

  var all: ContiguousArray<RunLoop.PeerWatch> { lock.withLock { watches.all } }

  /// Why connections would not be accepted, or the loss of the name not noticed, in the modes that the port is in.
  var refusal: (any Error)? {
    for watch in all where !(watch is Channel) {
      if let refusal = watch.followPorts() { return refusal }
    }
    return nil
  }

  private func hasMoved() { for watch in all { watch.followPorts() } }

  /// The port is gone.
  func mailboxHasEnded(_ mailbox: Mailbox) {
    let all = lock.withLock {
      defer { watches = IdentityTable() }
      return watches.all
    }
    for watch in all { watch.hasLost(mailbox) }
  }
}

extension Mailbox {
  /// Nil before the first.
  var connections: PortConnections? { transport as? PortConnections }

  /// True if it was not served by this one before.
  func connect(_ watch: RunLoop.PeerWatch) -> Bool {
    // Only this function creates one.
    (transport { PortConnections() } as! PortConnections).insert(watch)
  }

  func disconnect(_ watch: RunLoop.PeerWatch) { connections?.remove(watch) }
}
