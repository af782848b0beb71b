// A source that owns its descriptor and is a member of one mode is believed: the loop serves the readiness that it has
// fetched without asking the kernel again.

extension ModePointer {
  /// Called when a member was registered. Its readiness is believed if it owns the descriptor, this is its only mode of
  /// all loops, and none of its callouts is on a stack. Under the loop's lock. One system call for an owned descriptor.
  func believe(_ item: RunLoop.DescriptorItem, _ owned: OwnedDescriptor, token: UInt64) {
    // The item is a member of the set, so there is one.
    if item.kind == .descriptorSource, owned.isHeldByOneMode, owned.isStream { ports.set!.setOwned(true, token: token) }
  }
}

extension RunLoop.Item {
  /// Called when the item has joined a mode of the loop. An item in several modes is believed in none of them. Under
  /// the loop's lock.
  @inline(never)
  final func doubtReadiness(in loop: RunLoop) {
    if kind == .descriptorSource, let owned, !owned.isHeldByOneMode { doubt(in: loop) }
  }

  /// The same in the item's other loops. Called with no lock held.
  @inline(never)
  final func doubtReadiness(outside loop: RunLoop) {
    guard kind == .descriptorSource, let owned, !owned.isHeldByOneMode else { return }
    for other in withLinks({ $0.loops }) where other !== loop { other.lock.withLock { doubt(in: other) } }
  }

  private final func doubt(in loop: RunLoop) {
    withLinks { links in
      for link in links where link.loop === loop { link.mode?.ports.set?.setOwned(false, token: link.token) }
    }
  }
}
