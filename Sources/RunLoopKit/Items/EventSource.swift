internal import RunLoopLibc

/// What a class of event sources does itself: these lie in other modules, which override nothing.
package protocol EventService: AnyObject {
  /// It was added to a mode, for good or not. On the caller's thread, with no lock held.
  func hasJoined()
  /// Takes one event and calls out; true if it did. Its descriptors stay open meanwhile. On the loop's thread.
  /// - Parameter ready: What the descriptor is ready for, in bits of `PortRegistration`.
  func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool
  /// It is invalid, and a member of no mode. Once.
  func hasEnded()
  /// What its closure holds goes. Once, while no callout of it runs.
  func dropClosure()
  /// Its description.
  var summary: String { get }
}

extension EventService {
  package func hasJoined() {}
  package func hasEnded() {}
  package func dropClosure() {}
}

extension RunLoop {
  /// The superclass of signal sources, child sources, file watches and memory pressure sources; a program neither
  /// subclasses it nor creates one.
  ///
  /// They wake their loop by themselves and are called on its thread, one event a pass, in modes that hold them
  /// [RLK-SIGNAL-3, RLK-SIGNAL-6]. Their own descriptors are close-on-exec, and closed when the source is invalidated
  /// or gone [RLK-SIGNAL-17, RLK-CHILD-11, RLK-WATCH-8, RLK-PRESSURE-2]. A nested run serves further events while a
  /// callout is on the stack [RLK-SIGNAL-13]. In a child of fork(2) they are dead, like all items [RLK-CHILD-33,
  /// RLK-SIGNAL-18].
  /// - Thread: Any, for all members.
  open class EventSource: DescriptorItem, @unchecked Sendable {
    /// Itself, as those know it who have made its class.
    unowned(unsafe) private final var service: (any EventService)?

    package init(
      _ owned: OwnedDescriptor, kind: Kind = .eventSource, interest: UInt32 = PortRegistration.readable,
      limit: RateLimit? = nil, order: Int, onlyHost: RunLoop?, reader: SharedReader? = nil
    ) throws(RunLoopError) {
      try Self.check(owned.fileDescriptor)
      super.init(
        kind, fileDescriptor: owned.fileDescriptor, interest: interest, order: order,
        onlyHost: onlyHost,
        descriptors: ItemDescriptors(owned: owned, limiter: limit.map { RateLimiter($0) }, reader: reader))
      service = self as? any EventService
    }

    // Only its subclasses can call the initialiser, and each of them is a service.
    @inline(__always)
    private final var served: any EventService { service.unsafelyUnwrapped }

    /// It may not be called at all times.
    package final var hasLimit: Bool { limiter != nil }

    final func hasEntered() { served.hasJoined() }

    override final func serve(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
      served.takeEvent(ready: ready, in: mode, of: loop)
    }

    override final func hasLeft() { served.hasEnded() }

    override final func releaseBody() { served.dropClosure() }

    override final var words: String { served.summary }
  }

  package static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }
}
