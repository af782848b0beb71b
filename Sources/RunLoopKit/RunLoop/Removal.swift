internal import Synchronization

/// Removal with an answer. `invalidate()` does not wait for a callout that runs at this moment; these two tell when it
/// is over.
extension RunLoop.Item {
  /// Invalidates the item and returns when its callout is not running: on no thread, and it will not run again
  /// [RLK-REMOVE-1, RLK-REMOVE-6].
  ///
  /// Until then what the callout uses must stay; after the return it can go, and the closure is released
  /// (`invalidate()`). Two callouts that remove each other's items in this way wait for each other for ever: pass a
  /// timeout, or use `invalidate(finally:)` [RLK-REMOVE-8].
  /// - Parameter timeout: How long to wait; zero or less: not at all. Nil: until the callout ends.
  /// - Throws: `.wouldDeadlock` from inside the item's own callout, also from runs nested in it: nothing was done then
  ///   [RLK-REMOVE-2]. `.timedOut`: the item is invalid, and one callout still runs. `.forked` in a child of fork(2).
  /// - Thread: Any.
  /// - Blocks: While the callout runs; not at all if none does.
  /// - Complexity: O(modes); a wait costs two system calls and a barrier in all threads.
  public final func invalidateAndWait(timeout: Duration? = nil) throws(RunLoopError) {
    guard !isForked else { throw .forked }
    let item = ObjectIdentifier(self)
    if let own = ThreadRecord.existing?.loop, own.isInThisProcess,
      own.lock.withLock({ own.callouts.isOnStack(item, of: own) })
    {
      throw .wouldDeadlock(
        call: "invalidateAndWait(timeout:)",
        "the item's own callout would wait for its own end; call invalidate(finally:)")
    }
    let deadline = Deadline(timeout)
    let owner = closureOwner
    let (hosts, isFirst) = endMemberships()
    defer { if isFirst { RunLoop.endClosure(of: self, owner) } }
    for host in hosts {
      guard host.callouts.wait(for: item, on: host, deadline) else { throw .timedOut }
    }
  }

  /// Invalidates the item and calls `action` once, when its callout is not running and will not run again. Never blocks
  /// on a callout.
  ///
  /// - Parameter action: Called on this thread before the return if no callout runs; else on the thread of the callout
  ///   that ends last, right after it (or here, if it ends meanwhile) [RLK-REMOVE-4, RLK-REMOVE-5, RLK-REMOVE-7]. With
  ///   no lock held. Each call's action is called, also if the item was invalid before. In a child of fork(2) that
  ///   inherited the item nothing is done [RLK-REMOVE-14].
  /// - Thread: Any. - Re-entry: Allowed, also from the item's own callout: `action` follows when that has returned.
  /// - Blocks: Not on callouts. - Complexity: O(modes).
  public final func invalidate(finally action: @escaping @Sendable () -> Void) {
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
    var hosts = withLinks { links in
      var hosts: [RunLoop] = []
      links.forEach { link in if !hosts.contains(where: { $0 === link.host }) { hosts.append(link.host) } }
      return hosts
    }
    for host in LeftInCallout.loops(of: ObjectIdentifier(self)) where !hosts.contains(where: { $0 === host }) {
      hosts.append(host)
    }
    if isFirst { willLeave() }
    for host in hosts { host.detach(self) }
    if isFirst { endBelongings() }
    return (hosts, isFirst)
  }
}

extension RunLoop: ItemHost {
  /// With each membership that ends, in the same section of the leaf lock and under the lock of the loop.
  @inline(__always)
  func noteLeaving(_ item: Item) {
    if callouts.isOnStack(ObjectIdentifier(item), of: self) { LeftInCallout.insert(ObjectIdentifier(item), of: self) }
  }
}

// MARK: The end of closures

/// The end of an item's closure. It costs a callout nothing: who invalidates finds out whether the item's callout is on
/// a stack, by the record that removals with an answer go by (CalloutRecord.swift), and leaves the closure to the
/// callout's end then.
extension RunLoop {
  @inline(__always)
  static func endClosure(of item: Item, _ owner: RunLoop?) {
    if LeftInCallout.isEmpty, item.onlyHost == nil { item.releaseBody() } else { endClosureInItsPlace(of: item, owner) }
  }

  @inline(never)
  private static func endClosureInItsPlace(of item: Item, _ owner: RunLoop?) {
    let id = ObjectIdentifier(item)
    let call = FinalCall { item.releaseBody() }
    if let onlyHost = item.onlyHost, ThreadRecord.existing?.loop?.serial != onlyHost {
      if let owner { owner.callouts.handOver(call, of: id, on: owner) }
      return call.forget()
    }
    for loop in LeftInCallout.loops(of: id) { loop.callouts.announce(call, after: id, on: loop) }
    call.isOver()
  }
}
