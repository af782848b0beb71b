/// The blocks that the drain of a run holds. They are not on the stack: a block may end its thread, or leave the run by
/// an exception, and the loop then still releases the other blocks, or puts them back.
struct BlockDrain: ~Copyable {
  /// The blocks of other modes, and those that waited when the drain began. A retained reference. (The compiler (6.3)
  /// would destroy an optional reference by its metadata, in 120 instructions.)
  var waiting: Unmanaged<WaitingBlocks>?
  /// The blocks that have not had their turn. Empty between drains: this memory and the queue's take turns, so that a
  /// steady loop allocates nothing.
  var blocks = Row<QueuedBlock>()

  /// Called when all blocks have had their turn or were put back.
  @inline(__always)
  mutating func end() { blocks.trim() }

  /// Keeps a block for another mode than the one that is drained.
  @inline(never)
  mutating func keep(_ block: QueuedBlock) {
    if waiting == nil { waiting = .passRetained(WaitingBlocks()) }
    waiting?._withUnsafeGuaranteedRef { $0.append(block) }
  }

  mutating func takeWaiting() -> WaitingBlocks? { waiting.take()?.takeRetainedValue() }

  /// Takes out all blocks that have not run.
  mutating func takeRest() -> WaitingBlocks? {
    while let block = blocks.takeFirst() { keep(block) }
    return takeWaiting()
  }

  /// Called when a nested run begins or ends. Its drains use the same memory, unless there are blocks in it.
  mutating func exchange(with outer: inout BlockDrain) {
    if blocks.isEmpty, waiting == nil, outer.blocks.isEmpty, outer.waiting == nil { return }
    swap(&blocks, &outer.blocks)
    swap(&waiting, &outer.waiting)
  }

  deinit { waiting?.release() }
}
