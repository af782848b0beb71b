internal import Synchronization

/// The end of an item's closure. It costs a callout nothing: who invalidates finds out whether the item's callout is on a stack, by
/// the record that removals with an answer go by (CalloutRecord.swift), and leaves the closure to the callout's end then.
extension RunLoop.Item {
  /// The loop whose thread alone may release the closure; asked while the item is a member. Nil for most, and if that loop is
  /// not known any more: then the closure goes with the item, unless this is its thread.
  @inline(__always)
  final var closureOwner: RunLoop? { onlyHost == nil ? nil : withLinks { $0.first?.host } }

  /// Once: the item is invalid and has left its modes, so that no callout of it begins. With no lock held.
  @inline(__always)
  final func endClosure(_ owner: RunLoop?) {
    if LeftInCallout.isEmpty, onlyHost == nil { releaseBody() } else { endClosureInItsPlace(owner) }
  }

  @inline(never)
  private final func endClosureInItsPlace(_ owner: RunLoop?) {
    let item = ObjectIdentifier(self)
    let call = FinalCall { [self] in releaseBody() }
    if let onlyHost, ThreadRecord.existing?.loop?.serial != onlyHost {
      owner?.handOver(call, of: item)
      return call.forget()
    }
    for loop in LeftInCallout.loops(of: item) { loop.announce(call, afterCalloutOf: item) }
    call.isOver()
  }
}
