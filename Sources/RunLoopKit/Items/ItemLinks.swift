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

  init(first: ItemLink? = nil) { self.first = first }

  mutating func append(_ link: ItemLink) {
    if first == nil { first = link } else { others.append(link) }
  }

  /// Takes out the first link that `isGone` accepts.
  @inline(__always)
  mutating func remove(where isGone: (ItemLink) -> Bool) -> ItemLink? {
    guard let first else { return nil }
    if isGone(first) { return others.isEmpty ? self.first.take() : takeFirst() }
    guard !others.isEmpty, let index = others.firstIndex(where: isGone) else { return nil }
    return others.remove(at: index)
  }

  private mutating func takeFirst() -> ItemLink? {
    let link = first.take()
    first = others.removeFirst()
    return link
  }

  /// Takes out all links of the loop.
  @inline(__always)
  mutating func removeAll(of host: RunLoop) -> ItemLinks {
    if others.isEmpty { return first?.host === host ? ItemLinks(first: first.take()) : ItemLinks() }
    return split(host)
  }

  private mutating func split(_ host: RunLoop) -> ItemLinks {
    var (taken, kept) = (ItemLinks(), ItemLinks())
    forEach { if $0.host === host { taken.append($0) } else { kept.append($0) } }
    self = kept
    return taken
  }

  @inline(__always)
  func forEach(_ body: (ItemLink) -> Void) {
    if let first { body(first) }
    if !others.isEmpty { others.forEach(body) }
  }

  var hasOthers: Bool { !others.isEmpty }

  /// The loops of the links after the first one, each once, and not the first one's; nil if there are none.
  var otherHosts: [RunLoop]? {
    if others.isEmpty { return nil }
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
