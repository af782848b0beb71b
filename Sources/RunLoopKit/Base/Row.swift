internal import RunLoopLibc

/// Elements in the order of adding. A row grows as a burst of elements needs, and `trim` frees that memory again.
///
/// Not an array, since each access to an element of an array costs a reference count and a check.
package struct Row<Element>: ~Copyable {
  /// Nil only while the row is empty.
  private var elements: UnsafeMutablePointer<Element>?
  package private(set) var capacity = 0
  private var first = 0
  private var end = 0

  private static var firstCapacity: Int { 4 }
  /// The largest capacity that an empty row keeps in any case.
  private static var mostSpare: Int { 1024 }
  /// The largest capacity that an empty row keeps if the last burst has used a quarter of it or more.
  private static var mostKept: Int { 8192 }

  package init() {}

  package var count: Int { end - first }
  package var isEmpty: Bool { first == end }

  /// The index counts from the first element; it must be below `count`.
  // A row in which the index is valid is not empty, so there is memory.
  package subscript(index: Int) -> Element {
    @inline(__always) unsafeAddress { UnsafePointer(elements! + (first + index)) }
    @inline(__always) unsafeMutableAddress { elements! + (first + index) }
  }

  /// - Complexity: O(1), amortized.
  @inline(__always)
  package mutating func append(_ element: consuming Element) {
    if end == capacity { makeRoom() }
    // There is memory: if there was none, `end` and `capacity` were both 0, so `makeRoom` has just allocated some.
    (elements! + end).initialize(to: element)
    end += 1
  }

  /// - Complexity: O(1).
  @inline(__always)
  package mutating func takeFirst() -> Element? {
    guard first < end else { return nil }
    // There is an element, so there is memory.
    first += 1
    return (elements! + (first - 1)).move()
  }

  /// Takes the last element. The row must not be empty. - Complexity: O(1).
  @inline(__always)
  package mutating func takeLast() -> Element {
    end -= 1
    return (elements! + end).move()  // not empty, so there is memory
  }

  /// Removes and returns the first element that `isWanted` accepts. - Complexity: O(n).
  package mutating func remove(where isWanted: (Element) -> Bool) -> Element? {
    guard let elements, let index = (first..<end).first(where: { isWanted(elements[$0]) }) else { return nil }
    let removed = (elements + index).move()
    (elements + index).moveInitialize(from: elements + index + 1, count: end - index - 1)
    end -= 1
    return removed
  }

  /// Frees the memory of a burst, if the row is empty. The code that empties a row calls this once at the end, not
  /// after each element. Large bursts that follow each other use the same memory, up to `mostKept`.
  @inline(__always)
  package mutating func trim() {
    guard first == end else { return }
    if capacity > Self.mostSpare { giveBack() }
    first = 0
    end = 0
  }

  @inline(never)
  private mutating func giveBack() {
    guard capacity > Self.mostKept || end < capacity / 4 else { return }
    elements?.giveBackRoom()
    elements = nil
    capacity = 0
  }

  /// If half of the memory or more is free before the elements, moves them to its start. At least as many elements were
  /// taken since the last move as this one moves, so a move costs O(1) for each taken element. Otherwise doubles the
  /// memory.
  @inline(never)
  private mutating func makeRoom() {
    let count = count
    if let elements, first >= capacity / 2 {
      elements.moveInitialize(from: elements + first, count: count)
    } else {
      let larger = max(Self.firstCapacity, capacity * 2)
      let moved = UnsafeMutablePointer<Element>.room(for: larger)
      if let elements {
        moved.moveInitialize(from: elements + first, count: count)
        elements.giveBackRoom()
      }
      elements = moved
      capacity = larger
    }
    first = 0
    end = count
  }

  deinit {
    guard let elements else { return }
    (elements + first).deinitialize(count: count)
    elements.giveBackRoom()
  }
}

extension UnsafeMutablePointer {
  /// Allocates room for values that are initialised later. They must not need more alignment than malloc(3) gives.
  fileprivate static func room(for count: Int) -> Self {
    guard let memory = malloc(MemoryLayout<Pointee>.stride * count) else { fatalError("RunLoopKit: malloc failed") }
    return memory.bindMemory(to: Pointee.self, capacity: count)
  }

  /// Frees the memory that `room` has made. No value may be left in it.
  fileprivate func giveBackRoom() { free(self) }
}
