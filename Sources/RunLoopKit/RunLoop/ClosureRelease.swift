/// The end of an item's closure. It costs a callout nothing: who invalidates finds out whether the item's callout is on a stack, by
/// the record that removals with an answer go by (CalloutRecord.swift), and leaves the closure to the callout's end then.
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
      owner?.handOver(call, of: id)
      return call.forget()
    }
    for loop in LeftInCallout.loops(of: id) { loop.announce(call, afterCalloutOf: id) }
    call.isOver()
  }
}
