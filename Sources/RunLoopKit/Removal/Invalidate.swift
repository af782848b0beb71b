internal import Synchronization

/// Removal with an answer: when a callout that runs at this moment is over.
extension RunLoop.Item {
  /// Removes the item from all modes of all loops, for good. The call does not wait for a callout that runs on
  /// another thread at this moment; `action` tells when that is over, and `invalidateAndWait` waits. A second call
  /// does nothing but call its own action.
  ///
  /// It releases the closure, which breaks a retain cycle between the item and what the closure captures: before it
  /// returns, if no callout of the item runs; else the thread of the callout does, right after it [RLK-CLOSURE-1,
  /// RLK-CLOSURE-2, RLK-CLOSURE-4, RLK-CLOSURE-5, RLK-CLOSURE-6, RLK-CLOSURE-7]. The closure of an item that
  /// `assumeOnLoop` has made is always released on its loop's thread: if another thread invalidates the item, after
  /// the next callout there [RLK-CLOSURE-8]. No lock is held then [RLK-CLOSURE-9].
  ///
  /// - Parameter action: Called once, when the item's callout is not running and will not run again. On this thread
  ///   before the return if no callout runs; else on the thread of the callout that ends last, right after it (or
  ///   here, if it ends meanwhile) [RLK-REMOVE-4, RLK-REMOVE-5, RLK-REMOVE-7]. With no lock held. In a child of
  ///   fork(2) that inherited the item nothing is done [RLK-REMOVE-14].
  /// - Re-entry: Allowed, also from the item's own callout: `action` follows when that has returned.
  /// - Blocks: Not on callouts. - Complexity: O(modes).
  /// - SeeAlso: `CFRunLoopSourceInvalidate`, `CFRunLoopTimerInvalidate`, `CFRunLoopObserverInvalidate`.
  public final func invalidate(finally action: (@Sendable () -> Void)? = nil) {
    if let action { return invalidate(calling: action) }
    guard !isForked, validity.exchange(false, ordering: .sequentiallyConsistent) else { return }
    let owner = closureOwner
    willLeave()
    leaveHosts()
    endBelongings()
    RunLoop.endClosure(of: self, owner)
  }

  /// Invalidates the item and returns when its callout is not running: on no thread, and it will not run again
  /// [RLK-REMOVE-1, RLK-REMOVE-6].
  ///
  /// Until then what the callout uses must stay; after the return it can go, and the closure is released
  /// (`invalidate()`). Two callouts that remove each other's items in this way wait for each other for ever: pass a
  /// timeout, or use `invalidate(finally:)` [RLK-REMOVE-8].
  /// - Parameter timeout: How long to wait; zero or less: not at all. Nil: until the callout ends.
  /// - Throws: A `RunLoopError`: `.wouldDeadlock` from inside the item's own callout, also from runs nested in it:
  ///   nothing was done then [RLK-REMOVE-2]. `.timedOut`: the item is invalid, and one callout still runs. `.forked` in
  ///   a child of fork(2).
  /// - Thread: Any.
  /// - Blocks: While the callout runs; not at all if none does.
  /// - Complexity: O(modes); a wait costs two system calls and a barrier in all threads.
  public final func invalidateAndWait(timeout: Duration? = nil) throws {
    guard !isForked else { throw RunLoopError.forked }
    let item = ObjectIdentifier(self)
    if let own = ThreadRecord.existing?.loop, own.isInThisProcess,
      own.lock.withLock({ own.callouts.isOnStack(item, of: own) })
    {
      throw RunLoopError.wouldDeadlock(
        call: "invalidateAndWait(timeout:)",
        "the item's own callout would wait for its own end; call invalidate(finally:)")
    }
    let deadline = Deadline(timeout)
    let owner = closureOwner
    let (hosts, isFirst) = endMemberships()
    defer { if isFirst { RunLoop.endClosure(of: self, owner) } }
    for host in hosts {
      guard host.callouts.wait(for: item, on: host, deadline) else { throw RunLoopError.timedOut }
    }
  }

  /// As `invalidate(finally:)`.
  final func invalidate(calling action: @escaping @Sendable () -> Void) {
    guard !isForked else { return }
    let call = FinalCall(action)
    let owner = closureOwner
    let (hosts, isFirst) = endMemberships()
    for host in hosts { host.callouts.announce(call, after: ObjectIdentifier(self), on: host) }
    call.isOver()
    if isFirst { RunLoop.endClosure(of: self, owner) }
  }

  /// As `invalidate()`, without the closure's end. The loops on whose stacks its callout may be; after the return none
  /// begins anywhere.
  private final func endMemberships() -> (hosts: [RunLoop], isFirst: Bool) {
    let isFirst = validity.exchange(false, ordering: .sequentiallyConsistent)
    // First the links, then the table: an item that leaves is entered there before its link is gone.
    var hosts = withLinks { $0.hosts }
    for host in LeftInCallout.loops(of: ObjectIdentifier(self)) where !hosts.contains(where: { $0 === host }) {
      hosts.append(host)
    }
    if isFirst { willLeave() }
    for host in hosts { host.detach(self) }
    if isFirst { endBelongings() }
    return (hosts, isFirst)
  }

  /// Ends what must not outlive membership: the item is invalid, and has left its modes. Once.
  final func endBelongings() {
    hasLeft()
    descriptors?.end()
  }

  /// It is invalid.
  final func leaveHosts() {
    var others: [RunLoop]?
    let host: HeldLoop? = withLinks { links in
      if links.hasOthers { others = links.otherHosts }
      // The link that holds the loop may go meanwhile.
      guard let host = links.firstHost else { return nil }
      return HeldLoop(host)
    }
    host?.call { $0.detach(self) }
    if let others { for host in others { host.detach(self) } }
  }
}
