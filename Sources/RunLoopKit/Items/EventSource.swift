internal import RunLoopLibc

/// Implemented by the subclasses of `EventSource`. They are in other modules and override nothing; `EventSource` calls
/// them by this protocol.
package protocol EventService: AnyObject {
  /// Called after a thread has added the source to a mode, on that thread, with no lock held. Another thread may have
  /// removed the source since.
  func hasJoined()
  /// Takes one event and calls the source's closure. Returns true if it has called the closure. The source's
  /// descriptors stay open during the call.
  /// - Parameter ready: What the descriptor is ready for, in bits of `PortRegistration`.
  /// - Thread: The loop's own.
  func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool
  /// Called once, when the source is invalid and a member of no mode.
  func hasEnded()
  /// Called once to release what the source's closure holds. No callout of the source runs.
  func dropClosure()
  /// The source's description.
  var summary: String { get }
}

extension EventService {
  package func hasJoined() {}
  package func hasEnded() {}
  package func dropClosure() {}
}

extension RunLoop {
  /// The superclass of signal sources, child sources, file watches and memory pressure sources. Programs neither
  /// subclass nor instantiate it.
  ///
  /// An event wakes the loop. The loop calls the source on the loop's thread, one event a pass, in the modes that hold
  /// the source [RLK-SIGNAL-3, RLK-SIGNAL-6]. The source's own descriptors are close-on-exec, and are closed when the
  /// source is invalidated or destroyed [RLK-SIGNAL-17, RLK-CHILD-11, RLK-WATCH-8, RLK-PRESSURE-2]. While a callout of
  /// the source is on the stack, a nested run may call the source for further events [RLK-SIGNAL-13]. In a child of
  /// fork(2) an inherited source is dead, like all items [RLK-CHILD-33, RLK-SIGNAL-18].
  /// - Thread: Any, for all members.
  open class EventSource: DescriptorItem, @unchecked Sendable {
    /// The source itself, as an `EventService`.
    unowned(unsafe) private final var service: (any EventService)?

    package init(
      _ owned: OwnedDescriptor, kind: Kind = .eventSource, interest: UInt32 = PortRegistration.readable,
      limit: RateLimit? = nil, order: Int, onlyLoop: RunLoop?, reader: SharedReader? = nil
    ) throws(RunLoopError) {
      try Self.check(owned.fileDescriptor)
      super.init(
        kind, fileDescriptor: owned.fileDescriptor, interest: interest, order: order,
        onlyLoop: onlyLoop,
        descriptors: ItemDescriptors(owned: owned, limiter: limit.map { RateLimiter($0) }, reader: reader))
      service = self as? any EventService
    }

    // Only subclasses can call the initialiser, and each of them implements `EventService`.
    private final var served: any EventService { service.unsafelyUnwrapped }

    /// True if a rate limit may pause the source.
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

// For the subclasses in other modules. Their sources move between modes, pause, and change their interest.

extension RunLoop.EventSource {
  /// The loop of each membership. - Thread: Any.
  package final var loops: [RunLoop] { withLinks { $0.map(\.loop) } }

  /// Calls `body` for each mode of the source, under the source's leaf lock. - Thread: Any.
  package final func forEachMode(_ body: (ModePointer) -> Void) {
    withLinks { links in links.forEach { if let mode = $0.mode { body(mode) } } }
  }

  /// Makes the modes in `places` the modes of the source. The source leaves all its other modes, except those of the
  /// loop `other`, and enters the places that it is not in. If some modes refuse the source, it enters the rest, and
  /// the function returns the last error. Only one thread at a time may call this, and it must hold no loop's lock.
  package final func move(to places: [(loop: RunLoop, mode: ModePointer)], except other: RunLoop?) -> (any Error)? {
    for link in withLinks({ Array($0) })
    where link.loop !== other && !places.contains(where: { $0.mode == link.mode }) {
      if let mode = link.mode { link.loop.remove(self, from: link.loop.name(of: mode)) }
    }
    var refusal: (any Error)?
    for place in places where !isMember(of: place.mode) {
      do {
        try place.loop.add(self, to: place.loop.name(of: place.mode))
      } catch {
        refusal = error
      }
    }
    return refusal
  }

  /// Stops or resumes watching the source in the loop's port sets. The source stays a member. - Thread: Any.
  package final func rest(_ rests: Bool, in loop: RunLoop) {
    loop.lock.withLock { setMuted(rests, on: loop) }
  }

  /// Sets the source's interest and returns the previous one. `renewInterest(in:)` then registers the new interest.
  /// - Parameter interest: Bits of `PortRegistration`.
  /// - Thread: Any.
  package final func exchangeInterest(_ interest: UInt32) -> UInt32 {
    UInt32(wanted.exchange(UInt8(truncatingIfNeeded: interest), ordering: .sequentiallyConsistent))
  }

  /// Registers the source's interest in the loop's port sets again, even if it has not changed.
  /// - Throws: The error of epoll_ctl(2) if the kernel refuses the interest.
  /// - Thread: Any.
  package final func renewInterest(in loop: RunLoop) throws(RunLoopError) { try loop.interestChanged(self) }
}

extension RunLoop {
  /// The name never changes. This holds the lock only because ThreadSanitizer treats a change of one part of a mode as
  /// a change of the whole mode.
  fileprivate func name(of mode: ModePointer) -> Mode { lock.withLock { mode.name } }
}
