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

// MARK: Memberships

extension RunLoop.Item {
  /// The token of its membership in the mode; nil if it is no member.
  @inline(__always)
  final func token(in mode: ModePointer) -> UInt64? {
    withLinks { $0.first { $0.mode == mode }?.token }
  }

  @inline(__always)
  package final func isMember(of mode: ModePointer) -> Bool { token(in: mode) != nil }

  final func isMember(ofAnyModeOf host: RunLoop) -> Bool {
    withLinks { $0.contains { $0.host === host && $0.mode != nil } }
  }

  /// A timer or an observer belongs to one loop while it is in any of its modes (rules 39, 46).
  final func isFree(for host: RunLoop) -> Bool { withLinks { isFree(for: host, $0) } }

  @inline(__always)
  private final func isFree(for host: RunLoop, _ links: ItemLinks) -> Bool {
    !isExclusive || !links.contains { $0.mode != nil && $0.host !== host }
  }

  /// Makes the item a member of a mode: its token. Nil if it is one already, or belongs to another loop.
  ///
  /// - Parameter register: Enters the mode's tables, and answers the token; 0 if the item cannot be a member any more.
  ///   Under the leaf lock.
  @inline(__always)
  final func link(
    to host: RunLoop, _ mode: ModePointer, _ register: () throws(RunLoopError) -> UInt64
  ) throws(RunLoopError) -> UInt64? {
    try withLinks { links throws(RunLoopError) in
      guard !links.contains(where: { $0.mode == mode }), isFree(for: host, links) else { return nil }
      let token = try register()
      guard token != 0 else { return nil }
      links.append(ItemLink(host: host, mode: mode, token: token))
      return token
    }
  }

  /// The token that it had; nil if it is no member.
  @inline(__always)
  final func unlink(_ mode: ModePointer, of host: RunLoop) -> UInt64? {
    withLinks { links in
      guard let link = links.remove(where: { $0.mode == mode }) else { return nil }
      host.noteLeaving(self)
      return link.token
    }
  }

  /// Ends its membership in a mode of the loop if that is all it has.
  @inline(__always)
  final func unlinkOnly(of host: RunLoop) -> (mode: ModePointer, token: UInt64)? {
    withLinks { links in
      guard !links.hasOthers, let link = links.remove(where: { $0.host === host && $0.mode != nil }) else { return nil }
      host.noteLeaving(self)
      // The closure above wants links with a mode.
      return (link.mode!, link.token)
    }
  }

  /// Ends all its memberships in the loop.
  final func unlinkAll(of host: RunLoop) -> ItemLinks {
    withLinks { links in
      host.noteLeaving(self)
      return links.removeAll(of: host)
    }
  }

  final func linkRecord(of host: RunLoop, stamp: UInt64) {
    withLinks { $0.append(ItemLink(host: host, mode: nil, token: stamp)) }
  }

  final func unlinkRecord(of host: RunLoop) {
    _ = withLinks { $0.remove { $0.host === host && $0.mode == nil } }
  }
}
