/// Blocks that wait for one of their modes, in the order of queueing. Guarded by the loop's lock.
struct BlockQueue: ~Copyable {
  /// Those that a drain of another mode has seen, queued before the others. Nil rather than empty.
  private var waiting: WaitingBlocks?
  /// Those that no drain has seen yet.
  private var row = Row<QueuedBlock>()

  var isEmpty: Bool { row.isEmpty && waiting == nil }
  var count: Int { row.count + (waiting?.count ?? 0) }

  @inline(__always)
  mutating func append(_ block: consuming QueuedBlock) {
    block.forEachMode { $0.pendingBlockCount += 1 }
    row.append(block)
  }

  /// Hands all over, in exchange for an empty row, whose memory is used next. The modes' counts are the caller's.
  @inline(__always)
  mutating func detach(into drain: inout BlockDrain) {
    swap(&row, &drain.blocks)
    if let waiting = waiting.take() { drain.waiting = .passRetained(waiting) }
  }

  /// Takes out the block with this ticket.
  mutating func remove(_ ticket: BlockTicket) -> QueuedBlock? {
    let isWanted = { (block: QueuedBlock) in block.others?.ticket === ticket }
    let removed = row.remove(where: isWanted) ?? waiting?.remove(where: isWanted)
    removed?.forEachMode { $0.pendingBlockCount -= 1 }
    if waiting?.count == 0 { waiting = nil }
    return removed
  }

  /// Puts back what did not match, before anything queued meanwhile. A block that was withdrawn while the drain had it
  /// is not among them any more (its release calls no user code).
  mutating func putBack(_ kept: WaitingBlocks, areSomeWithdrawn: Bool) {
    if areSomeWithdrawn { while kept.remove(where: { $0.others?.ticket?.isWithdrawn == true }) != nil {} }
    kept.forEachCount { $0.pendingBlockCount += $1 }
    if let waiting { kept.append(contentsOf: waiting) }
    waiting = kept.count > 0 ? kept : nil
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
  /// Retained: those of other modes, and those that waited before it began. (The compiler (6.3) destroys an optional
  /// reference here by its metadata, in 120 instructions.)
  fileprivate(set) var waiting: Unmanaged<WaitingBlocks>?
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
