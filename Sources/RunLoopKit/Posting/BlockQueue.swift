/// Blocks that wait for one of their modes, in the order of queueing. Guarded by the loop's lock.
struct BlockQueue: ~Copyable {
  /// Blocks that drains of other modes have kept. They were queued before those of `row`. Nil if there are none.
  private var waiting: WaitingBlocks?
  /// Blocks that no drain has seen yet.
  private var row = Row<QueuedBlock>()

  var isEmpty: Bool { row.isEmpty && waiting == nil }
  var count: Int { row.count + (waiting?.count ?? 0) }

  @inline(__always)
  mutating func append(_ block: consuming QueuedBlock) {
    block.forEachMode { $0.pendingBlockCount += 1 }
    row.append(block)
  }

  /// Hands all blocks over to a drain, and takes its empty row in exchange. The caller resets the modes' counts.
  @inline(__always)
  mutating func detach(into drain: inout BlockDrain) {
    swap(&row, &drain.blocks)
    if let waiting = waiting.take() { drain.waiting = .passRetained(waiting) }
  }

  /// Removes and returns the block with this ticket.
  mutating func remove(_ ticket: BlockTicket) -> QueuedBlock? {
    let isWanted = { (block: QueuedBlock) in block.others?.ticket === ticket }
    let removed = row.remove(where: isWanted) ?? waiting?.remove(where: isWanted)
    removed?.forEachMode { $0.pendingBlockCount -= 1 }
    if waiting?.count == 0 { waiting = nil }
    return removed
  }

  /// Puts the blocks back that did not match, before anything queued meanwhile. Drops those that were withdrawn while
  /// the drain had them; their release calls no user code.
  mutating func putBack(_ kept: WaitingBlocks, areSomeWithdrawn: Bool) {
    if areSomeWithdrawn { while kept.remove(where: { $0.others?.ticket?.isWithdrawn == true }) != nil {} }
    kept.forEachCount { $0.pendingBlockCount += $1 }
    if let waiting { kept.append(contentsOf: waiting) }
    waiting = kept.count > 0 ? kept : nil
  }
}
