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

// MARK: Modes

// What the classes of event sources do with their modes, besides being added and removed.

extension RunLoop.EventSource {
  /// The loops that hold it, one for each membership. - Thread: Any.
  package final var hosts: [RunLoop] { withLinks { $0.map(\.host) } }

  /// Under a leaf lock of its own. - Thread: Any.
  package final func forEachMode(_ body: (ModePointer) -> Void) {
    withLinks { links in links.forEach { if let mode = $0.mode { body(mode) } } }
  }

  /// Leaves all modes but these and that loop's, and enters those of them in which it is not. The error if one has
  /// refused it: it is in the others then. By one thread at a time, with no lock of a loop held.
  package final func move(to places: [(host: RunLoop, mode: ModePointer)], except other: RunLoop?) -> (any Error)? {
    for link in withLinks({ Array($0) })
    where link.host !== other && !places.contains(where: { $0.mode == link.mode }) {
      if let mode = link.mode { link.host.remove(self, from: link.host.name(of: mode)) }
    }
    var refusal: (any Error)?
    for place in places where !isMember(of: place.mode) {
      do {
        try place.host.add(self, to: place.host.name(of: place.mode))
      } catch {
        refusal = error
      }
    }
    return refusal
  }

  /// Takes it out of the loop's sets, where it stays a member, or puts it into them again. - Thread: Any.
  package final func rest(_ rests: Bool, in loop: RunLoop) {
    loop.lock.withLock { setMuted(rests, on: loop) }
  }

  /// Sets its interest; `renewInterest` then changes the registrations. Returns what it was before.
  /// - Parameter interest: Bits of `PortRegistration`. - Thread: Any.
  package final func exchangeInterest(_ interest: UInt32) -> UInt32 {
    UInt32(wanted.exchange(UInt8(truncatingIfNeeded: interest), ordering: .sequentiallyConsistent))
  }

  /// Registers its interest in the loop's sets, also if it has not changed.
  /// - Throws: What epoll_ctl(2) refuses.
  /// - Thread: Any.
  package final func renewInterest(in loop: RunLoop) throws(RunLoopError) { try loop.interestChanged(self) }
}

extension RunLoop {
  /// Under the lock: it never changes, but ThreadSanitizer takes a change of a mode for one of all of it.
  fileprivate func name(of mode: ModePointer) -> Mode { lock.withLock { mode.name } }
}
