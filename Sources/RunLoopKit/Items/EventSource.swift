internal import Glibc

extension RunLoop {
  /// What signal sources, child sources and file watches share: the system's events as members of modes.
  ///
  /// They wake their loop by themselves and are called on its thread, one event a pass, in modes that hold them. Their own
  /// descriptors are close-on-exec, and closed when the source is invalidated or gone. A nested run serves further events
  /// while a callout is on the stack. In a child of fork(2) they are dead, like all items.
  /// - Thread: Any, for all members.
  public class EventSource: DescriptorItem, @unchecked Sendable {
    init(
      _ owned: OwnedDescriptor, kind: Kind = .eventSource, interest: UInt32 = PortRegistration.readable,
      limit: RateLimit? = nil, order: Int, onlyHost: RunLoop?
    ) throws(RunLoopError) {
      try super.init(
        kind, fileDescriptor: owned.fileDescriptor, interest: interest, order: order,
        context: nil, onlyHost: onlyHost,
        descriptors: ItemDescriptors(owned: owned, limiter: limit.map { RateLimiter($0) }))
    }

    /// It was added to a mode, for good or not. On the caller's thread, with no lock held.
    func hasEntered() {}

    /// Takes one event and calls out; true if it did. Its descriptors stay open meanwhile. On the loop's thread.
    func serve(in mode: ModePointer, of loop: RunLoop) -> Bool { false }

    /// The same for those to whom it matters what the descriptor is ready for.
    func serve(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool { serve(in: mode, of: loop) }
  }

  static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }
}
