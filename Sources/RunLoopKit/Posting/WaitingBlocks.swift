/// Blocks that a drain has not run, because they are for other modes. They are in lists by mode, so that a drain reads
/// only those of its mode. The queue owns the object and uses it under the loop's lock, or has handed it over to a
/// drain, which uses it on the loop's thread.
final class WaitingBlocks {
  private var lists: [ModePointer: List] = [:]
  private var lastNumber: UInt64 = 0
  private(set) var count = 0

  /// A block, which is in the list of each of its modes.
  private final class Entry {
    /// Grows in the order of queueing.
    let number: UInt64
    /// Nil once a mode has taken the block.
    var block: QueuedBlock?

    init(_ number: UInt64, _ block: QueuedBlock) { (self.number, self.block) = (number, block) }
  }

  private struct List {
    /// In the order of their numbers.
    var entries: ContiguousArray<Entry> = []
    /// How many of the entries were taken. Never more than half, so that a drain skips no more entries than it takes.
    private var takenCount = 0

    var count: Int { entries.count - takenCount }

    /// The first entry behind `number` that was not taken.
    func first(behind number: UInt64) -> Entry? {
      var (low, high) = (0, entries.count)
      while low < high {
        let middle = (low + high) / 2
        if entries[middle].number > number { high = middle } else { low = middle + 1 }
      }
      return entries[low...].first { $0.block != nil }
    }

    mutating func noteTaken() {
      takenCount += 1
      guard takenCount > entries.count / 2 else { return }
      entries.removeAll { $0.block == nil }
      takenCount = 0
    }
  }

  /// Adds a block behind all others.
  func append(_ block: QueuedBlock) {
    lastNumber += 1
    count += 1
    let entry = Entry(lastNumber, block)
    block.forEachMode { lists[$0, default: List()].entries.append(entry) }
  }

  /// Takes the next block behind `number` for the mode, or for the common modes if `common` is given. Sets `number` to
  /// that block's number.
  func takeNext(for mode: ModePointer, orFor common: ModePointer?, behind number: inout UInt64) -> QueuedBlock? {
    var next = lists[mode]?.first(behind: number)
    if let common, let shared = lists[common]?.first(behind: number), shared.number < next?.number ?? .max {
      next = shared
    }
    guard let next else { return nil }
    number = next.number
    return take(next)
  }

  /// Takes out the first block that is wanted. - Complexity: O(blocks).
  func remove(where isWanted: (QueuedBlock) -> Bool) -> QueuedBlock? {
    for list in lists.values {
      if let entry = list.entries.first(where: { $0.block.map(isWanted) ?? false }) { return take(entry) }
    }
    return nil
  }

  /// Takes all blocks out of `later`, and adds them behind all others.
  func append(contentsOf later: WaitingBlocks) {
    for entry in later.inOrder { if let block = later.take(entry) { append(block) } }
  }

  /// Calls `body` with each mode that a block names, and with the number of blocks that name it.
  func forEachCount(_ body: (ModePointer, Int) -> Void) { for (mode, list) in lists { body(mode, list.count) } }

  private func take(_ entry: Entry) -> QueuedBlock? {
    guard let block = entry.block.take() else { return nil }
    count -= 1
    block.forEachMode { mode in
      lists[mode]?.noteTaken()
      if lists[mode]?.count == 0 { lists[mode] = nil }
    }
    return block
  }

  /// Each entry once, though it may be in several lists.
  private var inOrder: [Entry] {
    lists.flatMap { mode, list in list.entries.filter { $0.block?.mode == mode } }.sorted { $0.number < $1.number }
  }

  // Releases the blocks in the order of queueing.
  deinit { for entry in inOrder { entry.block = nil } }
}
