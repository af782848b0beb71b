/// One membership of an item: in a mode of a loop, or in a loop's record of common items (`mode` nil).
struct ItemLink {
  /// Held while the item is a member.
  let host: RunLoop
  let mode: ModePointer?
  /// Of a descriptor and a timer: the token in the mode's port set or deadline heap. Of the others: a stamp that grows with
  /// each adding to the loop. Either tells a member from one that was removed and added again, and is never 0.
  let token: UInt64
}

/// Where an item is a member. Mostly in one place, which takes no array.
struct ItemLinks: Sequence {
  private(set) var first: ItemLink?
  private var others: ContiguousArray<ItemLink> = []

  mutating func append(_ link: ItemLink) {
    if first == nil { first = link } else { others.append(link) }
  }

  /// Takes out the first link that `isGone` accepts.
  @inline(__always)
  mutating func remove(where isGone: (ItemLink) -> Bool) -> ItemLink? {
    guard let first else { return nil }
    if isGone(first) { return takeFirst() }
    guard !others.isEmpty, let index = others.firstIndex(where: isGone) else { return nil }
    return others.remove(at: index)
  }

  private mutating func takeFirst() -> ItemLink? {
    if others.isEmpty { return first.take() }
    let link = first.take()
    first = others.removeFirst()
    return link
  }

  /// The loops of the links after the first one, each once, and not the first one's.
  var otherHosts: [RunLoop] {
    var hosts: [RunLoop] = []
    for link in others where link.host !== first?.host && !hosts.contains(where: { $0 === link.host }) {
      hosts.append(link.host)
    }
    return hosts
  }

  @inline(__always)
  func contains(where isWanted: (ItemLink) -> Bool) -> Bool { first(where: isWanted) != nil }

  @inline(__always)
  func first(where isWanted: (ItemLink) -> Bool) -> ItemLink? {
    guard let first else { return nil }
    if isWanted(first) { return first }
    return others.isEmpty ? nil : others.first(where: isWanted)
  }

  func makeIterator() -> Iterator { Iterator(links: self) }

  struct Iterator: IteratorProtocol {
    fileprivate let links: ItemLinks
    private var position = -1

    fileprivate init(links: ItemLinks) { self.links = links }

    mutating func next() -> ItemLink? {
      defer { position += 1 }
      if position < 0 { return links.first }
      return position < links.others.count ? links.others[position] : nil
    }
  }
}
