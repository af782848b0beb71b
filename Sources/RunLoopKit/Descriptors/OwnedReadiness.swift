// Whose fetched readiness is believed: that of a source which owns its descriptor, and is called for it in one place.

extension ModePointer {
  /// Of a member that has just been registered: believed if it owns the descriptor, this is its only mode of all loops,
  /// and no callout of it is on a stack. Under the loop's lock; one system call for an owned descriptor.
  func believe(_ item: RunLoop.DescriptorItem, _ owned: OwnedDescriptor, token: UInt64) {
    // It is a member of the set.
    if item.kind == .descriptorSource, owned.isHeldByOneMode, owned.isStream { ports.set!.setOwned(true, token: token) }
  }
}

extension RunLoop.Item {
  /// It has joined a mode of the loop: who is in several is believed in none. Under the loop's lock.
  @inline(never)
  final func doubtReadiness(in loop: RunLoop) {
    if kind == .descriptorSource, let owned, !owned.isHeldByOneMode { doubt(in: loop) }
  }

  /// The same in its other loops, without a lock held.
  @inline(never)
  final func doubtReadiness(outside loop: RunLoop) {
    guard kind == .descriptorSource, let owned, !owned.isHeldByOneMode else { return }
    for host in withLinks({ $0.hosts }) where host !== loop { host.lock.withLock { doubt(in: host) } }
  }

  private final func doubt(in loop: RunLoop) {
    withLinks { links in
      for link in links where link.host === loop { link.mode?.ports.set?.setOwned(false, token: link.token) }
    }
  }
}
