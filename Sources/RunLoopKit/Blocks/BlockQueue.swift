/// Blocks that wait for one of their modes, in the order of queueing. Guarded by the loop's lock.
struct BlockQueue: ~Copyable {
  private var row = Row<QueuedBlock>()

  var isEmpty: Bool { row.isEmpty }
  var count: Int { row.count }

  @inline(__always)
  mutating func append(_ block: consuming QueuedBlock) {
    block.forEachMode { $0.pendingBlockCount += 1 }
    row.append(block)
  }

  /// Exchanges the whole queue for an empty row, whose memory is used next. The modes' counts are the caller's.
  @inline(__always)
  mutating func detach(into empty: inout Row<QueuedBlock>) { swap(&row, &empty) }

  /// Takes out the block with this ticket.
  mutating func remove(_ ticket: BlockTicket) -> QueuedBlock? {
    let removed = row.remove { $0.others?.ticket === ticket }
    removed?.forEachMode { $0.pendingBlockCount -= 1 }
    return removed
  }

  /// Puts what did not match back, before anything queued meanwhile. A block that was withdrawn while the drain had it
  /// is not among them any more (its release calls no user code).
  mutating func putBack(_ kept: inout Row<QueuedBlock>) {
    while kept.remove(where: { $0.others?.ticket?.isWithdrawn == true }) != nil {}
    for index in 0..<kept.count { kept[index].forEachMode { $0.pendingBlockCount += 1 } }
    while let block = row.takeFirst() { kept.append(block) }
    swap(&row, &kept)
  }
}

/// A block, and the modes of which the first to come runs it.
struct QueuedBlock {
  let mode: ModePointer
  /// The further modes of a block that has several.
  let others: OtherModes?
  let body: () -> Void

  final class OtherModes {
    /// Each once, and without the first mode.
    let modes: [ModePointer]
    /// Of a block that a thread waits for.
    let ticket: BlockTicket?

    init?(_ modes: [ModePointer], besides first: ModePointer, ticket: BlockTicket? = nil) {
      var distinct: [ModePointer] = []
      for mode in modes where mode != first && !distinct.contains(mode) { distinct.append(mode) }
      guard !distinct.isEmpty || ticket != nil else { return nil }
      self.modes = distinct
      self.ticket = ticket
    }
  }

  @inline(__always)
  func forEachMode(_ body: (ModePointer) -> Void) {
    body(mode)
    if let others { others.modes.forEach(body) }
  }

  func names(_ wanted: ModePointer) -> Bool {
    mode == wanted || (others?.modes.contains(wanted) ?? false)
  }
}

/// What the drain of a run holds. Not on the thread's stack: a block may end its thread, or leave the run, and what
/// waits then is released, or put back.
struct BlockDrain: ~Copyable {
  /// Else empty: its memory and the queue's take turns, so that a steady loop allocates nothing.
  var blocks = Row<QueuedBlock>()
  /// Taken, and of other modes.
  var kept = Row<QueuedBlock>()

  /// All blocks have had their turn or were put back.
  @inline(__always)
  mutating func end() {
    blocks.trim()
    if kept.capacity > 0 { kept = Row<QueuedBlock>() }
  }

  /// An inner run begins or ends; its drains use the same memory, unless there is something in it.
  mutating func exchange(with outer: inout BlockDrain) {
    if blocks.isEmpty, kept.isEmpty, outer.blocks.isEmpty, outer.kept.isEmpty { return }
    swap(&blocks, &outer.blocks)
    swap(&kept, &outer.kept)
  }
}
