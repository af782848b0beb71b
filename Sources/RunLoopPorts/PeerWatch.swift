import RunLoopKit

extension RunLoop {
  /// What is a member wherever the ports are that it serves: a connection, and what listens for connections.
  ///
  /// It wakes those modes' loops, and takes messages from another process there, each class in its own way
  /// (`EventService`). What a user sees are the ports.
  class PeerWatch: EventSource, @unchecked Sendable {
    /// Held while memberships change: around the loops' locks, never in user code.
    private let following = Lock()

    /// The ports that it serves now.
    var servedPorts: [Mailbox] { [] }

    /// Enters and leaves modes as its ports have. The error if a mode has refused it for want of a descriptor: then it
    /// is not served there. With no lock held.
    @discardableResult
    final func followPorts() -> (any Error)? {
      guard !isForked else { return RunLoopError.forked }
      let (refusal, ioRefusal) = following.withLock {
        let wanted = servedPorts.flatMap { $0.places }
        // Whether the I/O thread goes on is decided next: it would leave to be back at once.
        let refusal = move(to: wanted, except: IOThread.currentLoop)
        return (refusal, hasChangedPlaces(isServed: !wanted.isEmpty))
      }
      if let ioRefusal { isUnwatched(ioRefusal) }
      return refusal
    }

    /// Under the lock that keeps memberships from changing. The error if it is wanted elsewhere, and refused there.
    func hasChangedPlaces(isServed: Bool) -> (any Error)? { nil }

    /// What a task waits for would go unnoticed. With no lock held.
    func isUnwatched(_ why: any Error) {}

    /// The port is gone. With no lock held.
    func hasLost(_ mailbox: Mailbox) {}
  }
}
