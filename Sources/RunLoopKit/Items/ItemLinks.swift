/// One membership of an item: in a mode of a loop or, if `mode` is nil, in a loop's record of common items.
package struct ItemLink {
  /// Retained while the item is a member.
  package let loop: RunLoop
  package let mode: ModePointer?
  /// Distinguishes this membership from an earlier one of the same item; never 0. For descriptors and timers it is the
  /// token in the mode's port set or deadline heap, for the other kinds a stamp that grows with each addition to the
  /// loop.
  package let token: UInt64

  package init(loop: RunLoop, mode: ModePointer?, token: UInt64) {
    (self.loop, self.mode, self.token) = (loop, mode, token)
  }
}

package typealias ItemLinks = OneOrMany<ItemLink>

extension OneOrMany<ItemLink> {
  /// Removes and returns all links of the loop.
  package mutating func removeAll(of loop: RunLoop) -> ItemLinks {
    var (taken, kept) = (ItemLinks(), ItemLinks())
    forEach { if $0.loop === loop { taken.append($0) } else { kept.append($0) } }
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
  package func only(of loop: RunLoop) -> (mode: ModePointer, token: UInt64)? {
    guard !hasOthers, first?.loop === loop, let mode = first?.mode else { return nil }
    return (mode, first.unsafelyUnwrapped.token)  // the guard has shown that there is one
  }

  // The next two do not copy the link, since a copy counts a reference. They need not retain the loop: the link does.

  /// The loop if the item is in one mode and in nothing else.
  @inline(__always)
  var onlyLoop: Unmanaged<RunLoop>? { others == nil && first?.mode != nil ? firstLoop : nil }

  @inline(__always)
  var firstLoop: Unmanaged<RunLoop>? { first == nil ? nil : .passUnretained(first.unsafelyUnwrapped.loop) }

  /// The loops of all links, each once.
  package var loops: [RunLoop] {
    var loops: [RunLoop] = []
    forEach { link in if !loops.contains(where: { $0 === link.loop }) { loops.append(link.loop) } }
    return loops
  }

  /// The loops of the links after the first, each once, without the first link's loop.
  package var otherLoops: [RunLoop] { hasOthers ? Array(loops.dropFirst()) : [] }
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

  final func isMember(ofAnyModeOf loop: RunLoop) -> Bool {
    withLinks { $0.contains { $0.loop === loop && $0.mode != nil } }
  }

  /// True if the item may join the loop: a timer or an observer belongs to one loop while it is in any of its modes
  /// (rules 39, 46).
  final func isFree(for loop: RunLoop) -> Bool { withLinks { isFree(for: loop, $0) } }

  @inline(__always)
  private final func isFree(for loop: RunLoop, _ links: ItemLinks) -> Bool {
    !links.contains { $0.mode != nil && $0.loop !== loop } || !isExclusive
  }

  /// Makes the item a member of a mode and returns the token of the membership. Returns nil if the item is a member
  /// already, or belongs to another loop.
  ///
  /// - Parameter register: Enters the item into the mode's tables and returns the token; 0 if the item cannot be a
  ///   member any more. Called under the leaf lock.
  @inline(__always)
  final func link(
    to loop: RunLoop, _ mode: ModePointer, _ register: () throws(RunLoopError) -> UInt64
  ) throws(RunLoopError) -> UInt64? {
    try withLinks { links throws(RunLoopError) in
      guard !links.contains(where: { $0.mode == mode }), isFree(for: loop, links) else { return nil }
      let token = try register()
      guard token != 0 else { return nil }
      links.append(ItemLink(loop: loop, mode: mode, token: token))
      noteAdding()
      return token
    }
  }

  /// Ends the membership and returns its token; nil if the item is no member.
  @inline(__always)
  final func unlink(_ mode: ModePointer, of loop: RunLoop) -> UInt64? {
    withLinks { links in
      guard let link = links.remove(where: { $0.mode == mode }) else { return nil }
      loop.noteLeaving(self)
      return link.token
    }
  }

  /// If the item has a single membership, and that is in a mode of the loop, ends it and returns its mode and token.
  @inline(__always)
  final func unlinkOnly(of loop: RunLoop) -> (mode: ModePointer, token: UInt64)? {
    withLinks { links in
      guard !links.hasOthers, let link = links.remove(where: { $0.loop === loop && $0.mode != nil }) else { return nil }
      loop.noteLeaving(self)
      return (link.mode!, link.token)  // the closure above accepts only links with a mode
    }
  }

  /// Ends all memberships of the item in the loop, and returns them.
  final func unlinkAll(of loop: RunLoop) -> ItemLinks {
    withLinks { links in
      loop.noteLeaving(self)
      return links.removeAll(of: loop)
    }
  }

  final func linkRecord(of loop: RunLoop, stamp: UInt64) {
    noteAdding()
    withLinks { $0.append(ItemLink(loop: loop, mode: nil, token: stamp)) }
  }

  final func unlinkRecord(of loop: RunLoop) {
    _ = withLinks { $0.remove { $0.loop === loop && $0.mode == nil } }
  }
}
