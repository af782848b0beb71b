/// The end of an item's closure. It costs a callout nothing: who invalidates finds out whether the item's callout is on
/// a stack, by the record that removals with an answer go by (CalloutRecord.swift), and leaves the closure to the
/// callout's end then.
extension RunLoop {
  /// Once: the item is invalid and has left its modes, so that no callout of it begins. With no lock held.
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

extension RunLoop.Item {
  /// The loop whose thread alone may release the closure; asked while the item is a member. Nil for most, and if that
  /// loop is not known any more: then the closure goes with the item, unless this is its thread.
  @inline(__always)
  final var closureOwner: RunLoop? { onlyHost == nil ? nil : withLinks { $0.first?.host } }
}
