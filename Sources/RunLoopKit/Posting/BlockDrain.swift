/// The blocks that a run's drain has taken and not run yet. They are in the loop's state, not on the stack: if a block
/// ends its thread or leaves the run by an exception, the loop can still release the remaining blocks or put them back.
struct BlockDrain: ~Copyable {
  /// The blocks of other modes, and those that waited when the drain began. `Unmanaged`, because the compiler (6.3)
  /// destroys an optional class reference by its metadata, which takes 120 instructions.
  var waiting: Unmanaged<WaitingBlocks>?
  /// The blocks that have not had their turn. Empty between drains. A drain swaps this memory with the queue's, so that
  /// a steady loop allocates nothing.
  var blocks = Row<QueuedBlock>()

  /// Called when all blocks have had their turn or were put back.
  @inline(__always)
  mutating func end() { blocks.trim() }

  /// Keeps a block that does not run in this drain.
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

  /// Swaps the blocks when a nested run begins or ends. If neither drain has any, the memory stays where it is, so that
  /// both drains use it.
  mutating func exchange(with outer: inout BlockDrain) {
    if blocks.isEmpty, waiting == nil, outer.blocks.isEmpty, outer.waiting == nil { return }
    swap(&blocks, &outer.blocks)
    swap(&waiting, &outer.waiting)
  }

  deinit { waiting?.release() }
}
