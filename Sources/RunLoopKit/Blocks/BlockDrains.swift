/// What the drains on a thread's stack hold. Not on that stack: a block may end its thread, and what waits is released then.
struct BlockDrains: ~Copyable {
  /// Of the innermost drain; else empty: its memory and the queue's take turns, so that a steady loop allocates nothing.
  var blocks = Row<QueuedBlock>()
  /// Taken, and of other modes.
  var kept = Row<QueuedBlock>()
  private var isDraining = false
  private var enclosing: UnsafeMutablePointer<Enclosing>?

  private struct Enclosing: ~Copyable {
    var blocks = Row<QueuedBlock>()
    var kept = Row<QueuedBlock>()
    let outer: UnsafeMutablePointer<Enclosing>?

    init(outer: UnsafeMutablePointer<Enclosing>?) { self.outer = outer }
  }

  @inline(__always)
  mutating func begin() {
    if isDraining { enclose() }
    isDraining = true
  }

  /// All blocks have had their turn or were put back.
  @inline(__always)
  mutating func end() {
    blocks.trim()
    if kept.capacity > 0 { kept = Row<QueuedBlock>() }
    isDraining = enclosing != nil
    if isDraining { disclose() }
  }

  @inline(never)
  private mutating func enclose() {
    let made = UnsafeMutablePointer.make(Enclosing(outer: enclosing))
    exchange(with: made)
    enclosing = made
  }

  @inline(never)
  private mutating func disclose() {
    guard let last = enclosing else { return }
    exchange(with: last)
    enclosing = last.pointee.outer
    last.destroy()
  }

  private mutating func exchange(with other: UnsafeMutablePointer<Enclosing>) {
    swap(&blocks, &other.pointee.blocks)
    swap(&kept, &other.pointee.kept)
  }

  deinit {
    var next = enclosing
    while let last = next {
      next = last.pointee.outer
      last.destroy()
    }
  }
}
