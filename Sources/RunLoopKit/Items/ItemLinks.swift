/// One membership of an item: in a mode of a loop, or in a loop's record of common items (`mode` nil).
package struct ItemLink {
  /// Held while the item is a member.
  package let host: RunLoop
  package let mode: ModePointer?
  /// Of a descriptor and a timer: the token in the mode's port set or deadline heap. Of the others: a stamp that grows
  /// with each adding to the loop. Either tells a member from one that was removed and added again, and is never 0.
  package let token: UInt64

  package init(host: RunLoop, mode: ModePointer?, token: UInt64) {
    (self.host, self.mode, self.token) = (host, mode, token)
  }
}

/// Where an item is a member.
package typealias ItemLinks = OneOrMany<ItemLink>

extension OneOrMany<ItemLink> {
  /// Takes out all links of the loop.
  package mutating func removeAll(of host: RunLoop) -> ItemLinks {
    var (taken, kept) = (ItemLinks(), ItemLinks())
    forEach { if $0.host === host { taken.append($0) } else { kept.append($0) } }
    self = kept
    return taken
  }

  /// True if the item is a member of the mode by this token.
  @inline(__always)
  package func contains(_ token: UInt64, in mode: ModePointer) -> Bool {
    // `mode` is no optional: equal to that of `first`, which is there.
    if first?.mode == mode { return first.unsafelyUnwrapped.token == token }
    return others?.contains { $0.mode == mode && $0.token == token } == true
  }

  /// The mode and the token, if the item is a member of one mode of the loop and of nothing else.
  @inline(__always)
  package func only(of host: RunLoop) -> (mode: ModePointer, token: UInt64)? {
    guard !hasOthers, first?.host === host, let mode = first?.mode else { return nil }
    // The guard has looked into it.
    return (mode, first.unsafelyUnwrapped.token)
  }

  // No copy of a link in these two, which would count a reference: the loop is held as long as the links stay.

  /// The loop of one in whose only mode the item is.
  @inline(__always)
  var onlyHost: Unmanaged<RunLoop>? { others == nil && first?.mode != nil ? firstHost : nil }

  @inline(__always)
  var firstHost: Unmanaged<RunLoop>? { first == nil ? nil : .passUnretained(first.unsafelyUnwrapped.host) }

  /// The loops, each once.
  package var hosts: [RunLoop] {
    var hosts: [RunLoop] = []
    forEach { link in if !hosts.contains(where: { $0 === link.host }) { hosts.append(link.host) } }
    return hosts
  }

  /// The loops of the links after the first one, each once, and not the first one's.
  package var otherHosts: [RunLoop] { hasOthers ? Array(hosts.dropFirst()) : [] }
}
