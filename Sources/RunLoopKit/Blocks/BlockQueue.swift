/// Blocks that wait for one of their modes, in the order of queueing. Guarded by the loop's lock.
struct BlockQueue: ~Copyable {
  private var batch = BlockBatch()

  var isEmpty: Bool { batch.count == 0 }
  var count: Int { batch.count }

  @inline(__always)
  mutating func append(_ block: consuming QueuedBlock) {
    block.forEachMode { $0.pendingBlockCount += 1 }
    batch.append(block)
  }

  /// Exchanges the whole queue for an empty batch, whose memory is used next. The modes' counts are the caller's.
  @inline(__always)
  mutating func detach(into empty: inout BlockBatch) { swap(&batch, &empty) }

  /// Takes out the block with this ticket.
  mutating func remove(_ ticket: BlockTicket) -> QueuedBlock? {
    let removed = batch.remove { $0.others?.ticket === ticket }
    removed?.forEachMode { $0.pendingBlockCount -= 1 }
    return removed
  }

  /// Puts what did not match back, before anything queued meanwhile. A block that was withdrawn while the drain had it is
  /// not among them any more (its release calls nobody).
  mutating func putBack(_ kept: inout BlockBatch) {
    while kept.remove(where: { $0.others?.ticket?.isWithdrawn == true }) != nil {}
    for index in 0..<kept.count { kept[index].forEachMode { $0.pendingBlockCount += 1 } }
    while let block = batch.takeFirst() { kept.append(block) }
    batch.reset()
    swap(&batch, &kept)
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
    /// Of a block that somebody waits for.
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

/// A row of blocks, filled at its end and emptied from its start.
///
/// Not an array: taking a block out of one, or leaving it there for its turn, costs a reference count and a check each.
struct BlockBatch: ~Copyable {
  private var blocks: UnsafeMutablePointer<QueuedBlock>?
  private(set) var capacity = 0
  private var first = 0
  private var end = 0

  private static let firstCapacity = 8

  var count: Int { end - first }

  // For an index below `count`: then there is memory. `blocks` is nil only while the row is empty.
  subscript(index: Int) -> QueuedBlock { blocks![first + index] }

  @inline(__always)
  mutating func append(_ block: consuming QueuedBlock) {
    if end == capacity { grow() }
    // `grow` makes memory where there is none: the capacity was 0 then.
    (blocks! + end).initialize(to: block)
    end += 1
  }

  @inline(__always)
  mutating func takeFirst() -> QueuedBlock? {
    guard first < end else { return nil }
    first += 1
    // There is a block, hence memory.
    return (blocks! + (first - 1)).move()
  }

  /// Takes out the first one that is wanted, from wherever it is.
  mutating func remove(where isWanted: (QueuedBlock) -> Bool) -> QueuedBlock? {
    guard let blocks, let index = (first..<end).first(where: { isWanted(blocks[$0]) }) else { return nil }
    let removed = (blocks + index).move()
    (blocks + index).moveInitialize(from: blocks + index + 1, count: end - index - 1)
    end -= 1
    return removed
  }

  /// Makes all of the memory available again. Only for an emptied one.
  mutating func reset() {
    precondition(first == end)
    first = 0
    end = 0
  }

  @inline(never)
  private mutating func grow() {
    let larger = max(Self.firstCapacity, capacity * 2)
    let moved = UnsafeMutablePointer<QueuedBlock>.allocate(capacity: larger)
    if let blocks {
      (moved + first).moveInitialize(from: blocks + first, count: count)
      blocks.deallocate()
    }
    blocks = moved
    capacity = larger
  }

  deinit {
    guard let blocks else { return }
    (blocks + first).deinitialize(count: count)
    blocks.deallocate()
  }
}
