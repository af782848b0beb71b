/// One membership of an item: in a mode of a loop or, if `mode` is nil, in a loop's record of common items.
package struct ItemLink {
  /// Retained while the item is a member.
  package let host: RunLoop
  package let mode: ModePointer?
  /// Tells this membership from an earlier one of the same item; never 0. For descriptors and timers it is the token in
  /// the mode's port set or deadline heap, for the other kinds a stamp that grows with each addition to the loop.
  package let token: UInt64

  package init(host: RunLoop, mode: ModePointer?, token: UInt64) {
    (self.host, self.mode, self.token) = (host, mode, token)
  }
}

/// The memberships of an item.
package typealias ItemLinks = OneOrMany<ItemLink>

extension OneOrMany<ItemLink> {
  /// Removes and returns all links of the loop.
  package mutating func removeAll(of host: RunLoop) -> ItemLinks {
    var (taken, kept) = (ItemLinks(), ItemLinks())
    forEach { if $0.host === host { taken.append($0) } else { kept.append($0) } }
    self = kept
    return taken
  }

  /// True if the item is a member of the mode under this token.
  @inline(__always)
  package func contains(_ token: UInt64, in mode: ModePointer) -> Bool {
    // `mode` is not nil, so if it equals `first?.mode`, `first` is not nil.
    if first?.mode == mode { return first.unsafelyUnwrapped.token == token }
    return others?.contains { $0.mode == mode && $0.token == token } == true
  }

  /// The mode and the token if the item is a member of one mode of the loop and of nothing else.
  @inline(__always)
  package func only(of host: RunLoop) -> (mode: ModePointer, token: UInt64)? {
    guard !hasOthers, first?.host === host, let mode = first?.mode else { return nil }
    // The guard has shown that `first` is not nil.
    return (mode, first.unsafelyUnwrapped.token)
  }

  // These two copy no link, since a copy counts a reference. The link itself retains the loop.

  /// The loop if the item is in one mode and in nothing else.
  @inline(__always)
  var onlyHost: Unmanaged<RunLoop>? { others == nil && first?.mode != nil ? firstHost : nil }

  @inline(__always)
  var firstHost: Unmanaged<RunLoop>? { first == nil ? nil : .passUnretained(first.unsafelyUnwrapped.host) }

  /// The loops of all links, each once.
  package var hosts: [RunLoop] {
    var hosts: [RunLoop] = []
    forEach { link in if !hosts.contains(where: { $0 === link.host }) { hosts.append(link.host) } }
    return hosts
  }

  /// The loops of the links after the first, each once, without the first link's loop.
  package var otherHosts: [RunLoop] { hasOthers ? Array(hosts.dropFirst()) : [] }
}

// MARK: Memberships

extension RunLoop.Item {
  /// The token of the item's membership in the mode; nil if the item is no member.
  @inline(__always)
  final func token(in mode: ModePointer) -> UInt64? {
    withLinks { $0.first { $0.mode == mode }?.token }
  }

  @inline(__always)
  package final func isMember(of mode: ModePointer) -> Bool { token(in: mode) != nil }

  final func isMember(ofAnyModeOf host: RunLoop) -> Bool {
    withLinks { $0.contains { $0.host === host && $0.mode != nil } }
  }

  /// True if the item may join the loop: a timer or an observer belongs to one loop while it is in any of its modes
  /// (rules 39, 46).
  final func isFree(for host: RunLoop) -> Bool { withLinks { isFree(for: host, $0) } }

  @inline(__always)
  private final func isFree(for host: RunLoop, _ links: ItemLinks) -> Bool {
    !isExclusive || !links.contains { $0.mode != nil && $0.host !== host }
  }

  /// Makes the item a member of a mode and returns its token. Nil if it is a member already, or belongs to another
  /// loop.
  ///
  /// - Parameter register: Enters the item into the mode's tables and returns the token; 0 if the item cannot be a
  ///   member any more. Called under the leaf lock.
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

  /// Ends the membership and returns its token; nil if the item is no member.
  @inline(__always)
  final func unlink(_ mode: ModePointer, of host: RunLoop) -> UInt64? {
    withLinks { links in
      guard let link = links.remove(where: { $0.mode == mode }) else { return nil }
      host.noteLeaving(self)
      return link.token
    }
  }

  /// Ends the item's membership in a mode of the loop if it has no other, and returns its mode and token.
  @inline(__always)
  final func unlinkOnly(of host: RunLoop) -> (mode: ModePointer, token: UInt64)? {
    withLinks { links in
      guard !links.hasOthers, let link = links.remove(where: { $0.host === host && $0.mode != nil }) else { return nil }
      host.noteLeaving(self)
      // The closure above accepts only links with a mode.
      return (link.mode!, link.token)
    }
  }

  /// Ends all memberships of the item in the loop, and returns them.
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
