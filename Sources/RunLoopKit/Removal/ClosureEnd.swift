/// The release of an invalidated item's closure. It makes callouts no slower, because the invalidating thread finds out
/// by `CalloutRecord` whether the item's callout is on a stack. If so, the end of that callout releases the closure.
extension RunLoop {
  /// Releases the closure, or leaves that to the end of the item's callout. Called once, with no lock held, when the
  /// item is invalid and has left its modes, so no callout of it begins.
  @inline(__always)
  static func endClosure(of item: Item, _ owner: RunLoop?) {
    if LeftInCallout.isEmpty, item.onlyLoop == nil { item.releaseBody() } else { endClosureInItsPlace(of: item, owner) }
  }

  @inline(never)
  private static func endClosureInItsPlace(of item: Item, _ owner: RunLoop?) {
    let id = ObjectIdentifier(item)
    let call = FinalCall { item.releaseBody() }
    if let onlyLoop = item.onlyLoop, ThreadRecord.existing?.loop?.serial != onlyLoop {
      if let owner { owner.callouts.handOver(call, of: id, on: owner) }
      return
    }
    for loop in LeftInCallout.loops(of: id) { loop.callouts.announce(call, after: id, on: loop) }
    call.endAwaited()
  }
}

extension RunLoop.Item {
  /// The loop whose thread alone may release the closure; nil for most items. Read it while the item is a member. If
  /// such an item is in no loop any more, this is nil too: the item then keeps its closure until it is destroyed,
  /// unless its loop's thread invalidates it.
  @inline(__always)
  final var closureOwner: RunLoop? { onlyLoop == nil ? nil : withLinks { $0.first?.loop } }
}
