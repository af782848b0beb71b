internal import RunLoopLibc

/// Elements in the order of their coming: filled at the end and emptied from the start. It grows to what a burst needs;
/// `trim` gives that back.
///
/// Not an array: taking an element out of one, or leaving it there for its turn, costs a reference count and a check
/// each.
package struct Row<Element>: ~Copyable {
  /// Nil only while the row is empty.
  private var elements: UnsafeMutablePointer<Element>?
  package private(set) var capacity = 0
  private var first = 0
  private var end = 0

  private static var firstCapacity: Int { 4 }
  /// Kept though the row is empty.
  private static var mostSpare: Int { 1024 }
  /// The same, after a burst that has used it.
  private static var mostKept: Int { 8192 }

  package init() {}

  package var count: Int { end - first }
  package var isEmpty: Bool { first == end }

  /// The index counts from the first element; it must be below `count`.
  // Then there is memory.
  package subscript(index: Int) -> Element {
    @inline(__always) unsafeAddress { UnsafePointer(elements! + (first + index)) }
    @inline(__always) unsafeMutableAddress { elements! + (first + index) }
  }

  /// - Complexity: O(1), amortized.
  @inline(__always)
  package mutating func append(_ element: consuming Element) {
    if end == capacity { makeRoom() }
    // `makeRoom` makes memory where there is none: the capacity was 0 then.
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

  /// Of a row that is not empty. - Complexity: O(1).
  @inline(__always)
  package mutating func takeLast() -> Element {
    end -= 1
    // There is an element, so there is memory.
    return (elements! + end).move()
  }

  /// Takes out the first one that is wanted, from wherever it is. - Complexity: O(n).
  package mutating func remove(where isWanted: (Element) -> Bool) -> Element? {
    guard let elements, let index = (first..<end).first(where: { isWanted(elements[$0]) }) else { return nil }
    let removed = (elements + index).move()
    (elements + index).moveInitialize(from: elements + index + 1, count: end - index - 1)
    end -= 1
    return removed
  }

  /// Frees the memory that a burst has needed, if the row is empty. The code that empties a row calls this then; not
  /// after each element. Bursts that come one after the other use the same memory, up to a limit: it is freed when a
  /// smaller one has been emptied.
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

  /// At the start, if half of the memory is free there: so many have been taken since the last time. Else there is
  /// twice as much.
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
  /// Room for values that are initialised later; none is aligned to more than malloc(3) does.
  fileprivate static func room(for count: Int) -> Self {
    guard let memory = malloc(MemoryLayout<Pointee>.stride * count) else { fatalError("RunLoopKit: malloc failed") }
    return memory.bindMemory(to: Pointee.self, capacity: count)
  }

  /// What `room` has made, and nothing is left in.
  fileprivate func giveBackRoom() { free(self) }
}
