import RunLoopKit

/// A set whose elements are also in an array. Inserting and removing take constant time, also among thousands of
/// elements.
package struct IdentityTable<Element: Hashable> {
  package private(set) var all: ContiguousArray<Element> = []
  /// The index of each element. Empty while there are few elements: searching those linearly is cheaper than hashing.
  private var places: [Element: Int] = [:]
  private static var few: Int { 8 }

  package init() {}

  private func place(of element: Element) -> Int? {
    all.count <= Self.few ? all.firstIndex { $0 == element } : places[element]
  }

  package mutating func insert(_ element: Element) -> Bool {
    guard place(of: element) == nil else { return false }
    all.append(element)
    if all.count > Self.few + 1 {
      places[element] = all.count - 1
    } else if all.count > Self.few {
      for (place, one) in all.enumerated() { places[one] = place }
    }
    return true
  }

  /// Removes an element, and moves the last one to its place. The caller releases the result with no lock held.
  package mutating func remove(_ element: Element) -> Element? {
    guard let place = place(of: element) else { return nil }
    let last = all.removeLast()
    if !places.isEmpty {
      places[element] = nil
      if last != element { places[last] = place }
      if all.count <= Self.few { places = [:] }
    }
    guard place < all.count else { return last }
    defer { all[place] = last }
    return all[place]
  }
}
