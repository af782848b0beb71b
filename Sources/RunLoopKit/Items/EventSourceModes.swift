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
