/// A list in the order of adding. Most lists have one element, and then need no array.
package struct OneOrMany<Element>: Sequence {
  package internal(set) var first: Element?
  /// The elements after `first`. Nil if there are none; never empty.
  private(set) var others: ContiguousArray<Element>?

  package init(first: Element? = nil) { self.first = first }

  @inline(__always)
  package var hasOthers: Bool { others != nil }

  @inline(__always)
  package mutating func append(_ element: Element) {
    if first == nil { first = element } else { appendOther(element) }
  }

  @inline(never)
  private mutating func appendOther(_ element: Element) {
    if others == nil { others = [element] } else { others!.append(element) }
  }

  /// Inserts the element before the first one that `isBehind` accepts. If it accepts none, appends the element.
  package mutating func insert(_ element: Element, before isBehind: (Element) -> Bool) {
    guard let first else { return self.first = element }
    if isBehind(first) {
      self.first = element
      others = [first] + (others ?? [])
    } else if let index = others?.firstIndex(where: isBehind) {
      others!.insert(element, at: index)
    } else {
      appendOther(element)
    }
  }

  /// Removes and returns the first element that `isGone` accepts.
  @inline(__always)
  package mutating func remove(where isGone: (Element) -> Bool) -> Element? {
    guard let first else { return nil }
    if isGone(first) { return hasOthers ? takeFirst() : self.first.take() }
    guard let index = others?.firstIndex(where: isGone) else { return nil }
    return removeOther(at: index)
  }

  private mutating func takeFirst() -> Element? {
    let taken = first.take()
    first = removeOther(at: 0)
    return taken
  }

  private mutating func removeOther(at index: Int) -> Element? {
    let taken = others?.remove(at: index)
    if others?.isEmpty == true { others = nil }
    return taken
  }

  @inline(__always)
  package func forEach(_ body: (Element) -> Void) {
    if let first { body(first) }
    others?.forEach(body)
  }

  /// Calls `body` with each element. `body` may change the element.
  @inline(__always)
  package mutating func change(_ body: (inout Element) -> Void) {
    if first != nil { body(&first!) }
    changeOthers(body)
  }

  /// Not inlined, since few lists have other elements.
  @inline(never)
  mutating func changeOthers(_ body: (inout Element) -> Void) {
    if others != nil { for index in others!.indices { body(&others![index]) } }
  }

  @inline(__always)
  package func contains(where isWanted: (Element) -> Bool) -> Bool { first(where: isWanted) != nil }

  @inline(__always)
  package func first(where isWanted: (Element) -> Bool) -> Element? {
    guard let first else { return nil }
    return isWanted(first) ? first : others?.first(where: isWanted)
  }

  package func makeIterator() -> Iterator { Iterator(list: self) }

  package struct Iterator: IteratorProtocol {
    fileprivate let list: OneOrMany
    private var position = -1

    fileprivate init(list: OneOrMany) { self.list = list }

    package mutating func next() -> Element? {
      defer { position += 1 }
      if position < 0 { return list.first }
      guard let others = list.others, position < others.count else { return nil }
      return others[position]
    }
  }
}
