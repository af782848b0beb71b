// If a source owns its descriptor and is a member of one mode only, no other code reads the descriptor. The loop then
// serves the readiness that it has fetched, and does not poll the descriptor again.

extension ModePointer {
  /// Called when the mode has registered a member. Makes the port set trust the fetched readiness of the member if the
  /// member owns the descriptor, is in no other mode of any loop, and has no callout on a stack. Under the loop's lock.
  /// Makes one system call for an owned descriptor.
  func trust(_ item: RunLoop.DescriptorItem, _ owned: OwnedDescriptor, token: UInt64) {
    if item.kind == .descriptorSource, owned.isHeldByOneMode, owned.isStream { ports.set!.setOwned(true, token: token) }
  }
}

extension RunLoop.Item {
  /// Called when the item has joined a mode of the loop. If the item is in several modes now, the loop polls its
  /// descriptor before each callout in all of them, since a callout in one mode may read what another mode has fetched.
  /// Under the loop's lock.
  @inline(never)
  final func recheckReadiness(in loop: RunLoop) {
    if kind == .descriptorSource, let owned, !owned.isHeldByOneMode { recheck(in: loop) }
  }

  /// Does what `recheckReadiness(in:)` does, in the item's other loops. Called with no lock held.
  @inline(never)
  final func recheckReadiness(outside loop: RunLoop) {
    guard kind == .descriptorSource, let owned, !owned.isHeldByOneMode else { return }
    for other in withLinks({ $0.loops }) where other !== loop { other.lock.withLock { recheck(in: other) } }
  }

  private final func recheck(in loop: RunLoop) {
    withLinks { links in
      for link in links where link.loop === loop { link.mode?.ports.set?.setOwned(false, token: link.token) }
    }
  }
}
