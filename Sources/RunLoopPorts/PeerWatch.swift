import RunLoopKit

extension RunLoop {
  /// An event source that follows ports into their modes: a connection, a listener, or a watch on a port's name.
  ///
  /// It wakes the loops of those modes, which call its `EventService`. Users see only the ports.
  class PeerWatch: EventSource, @unchecked Sendable {
    /// Held while memberships change. Loops' locks are taken under it, and no user code runs under it.
    private let following = Lock()

    /// The ports that the watch follows now.
    var servedPorts: [Mailbox] { [] }

    /// Moves the watch into the modes of its ports, and out of all others. Returns the error if a mode has refused it
    /// for lack of a descriptor; that mode then does not serve it. Call it with no lock held.
    @discardableResult
    final func followPorts() -> (any Error)? {
      guard !isForked else { return RunLoopError.forked }
      let (refusal, ioRefusal) = following.withLock {
        let wanted = servedPorts.flatMap { $0.places }
        // `hasChangedPlaces` decides whether the I/O thread's loop serves the watch.
        let refusal = move(to: wanted, except: IOThread.currentLoop)
        return (refusal, hasChangedPlaces(isServed: !wanted.isEmpty))
      }
      if let ioRefusal { isUnwatched(ioRefusal) }
      return refusal
    }

    /// Called after the watch's modes have changed, under `following`. Returns the error if the I/O thread should serve
    /// the watch and has refused it.
    func hasChangedPlaces(isServed: Bool) -> (any Error)? { nil }

    /// Called if the I/O thread has refused the watch, so that no loop notices what tasks wait for. No lock is held.
    func isUnwatched(_ why: any Error) {}

    /// Called when a port has ended. No lock is held.
    func hasLost(_ mailbox: Mailbox) {}
  }
}
