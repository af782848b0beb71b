/// What the drain of a run holds. Not on the thread's stack: a block may end its thread, or leave the run, and what
/// waits then is released, or put back.
struct BlockDrain: ~Copyable {
  /// Retained: those of other modes, and those that waited before it began. (The compiler (6.3) destroys an optional
  /// reference here by its metadata, in 120 instructions.)
  var waiting: Unmanaged<WaitingBlocks>?
  /// Else empty: its memory and the queue's take turns, so that a steady loop allocates nothing.
  var blocks = Row<QueuedBlock>()

  /// All blocks have had their turn or were put back.
  @inline(__always)
  mutating func end() { blocks.trim() }

  /// Of another mode than the one that is drained.
  @inline(never)
  mutating func keep(_ block: QueuedBlock) {
    if waiting == nil { waiting = .passRetained(WaitingBlocks()) }
    waiting?._withUnsafeGuaranteedRef { $0.append(block) }
  }

  mutating func takeWaiting() -> WaitingBlocks? { waiting.take()?.takeRetainedValue() }

  /// All that has not run.
  mutating func takeRest() -> WaitingBlocks? {
    while let block = blocks.takeFirst() { keep(block) }
    return takeWaiting()
  }

  /// An inner run begins or ends; its drains use the same memory, unless there is something in it.
  mutating func exchange(with outer: inout BlockDrain) {
    if blocks.isEmpty, waiting == nil, outer.blocks.isEmpty, outer.waiting == nil { return }
    swap(&blocks, &outer.blocks)
    swap(&waiting, &outer.waiting)
  }

  deinit { waiting?.release() }
}
