/// Blocks that a drain has passed by, because they are for other modes: in lists by mode, so that a drain looks only at
/// those of its own mode. The queue owns the object, and uses it under the loop's lock, until it hands the object to a
/// drain, which uses it on the loop's thread.
final class WaitingBlocks {
  private var lists: [ModePointer: List] = [:]
  private var lastNumber: UInt64 = 0
  private(set) var count = 0

  /// In the list of each of its modes.
  private final class Entry {
    /// In the order of queueing.
    let number: UInt64
    /// Nil once it was taken, by whichever mode.
    var block: QueuedBlock?

    init(_ number: UInt64, _ block: QueuedBlock) { (self.number, self.block) = (number, block) }
  }

  private struct List {
    /// By growing numbers.
    var entries: ContiguousArray<Entry> = []
    /// How many of them were taken: never more than half, so that a look costs no more than what it finds.
    private var takenCount = 0

    var count: Int { entries.count - takenCount }

    /// The first one behind the number that was not taken.
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

  /// Behind all others.
  func append(_ block: QueuedBlock) {
    lastNumber += 1
    count += 1
    let entry = Entry(lastNumber, block)
    block.forEachMode { lists[$0, default: List()].entries.append(entry) }
  }

  /// The next block of the mode, or of the common modes if `common` is given, behind the one with the number, which
  /// becomes its own.
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

  /// Those of `later`, behind all others.
  func append(contentsOf later: WaitingBlocks) {
    for entry in later.inOrder { if let block = later.take(entry) { append(block) } }
  }

  /// How many name the mode, for each that any names.
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

  /// Each once, though it may be in several lists.
  private var inOrder: [Entry] {
    lists.flatMap { mode, list in list.entries.filter { $0.block?.mode == mode } }.sorted { $0.number < $1.number }
  }

  // The blocks go in the order of queueing.
  deinit { for entry in inOrder { entry.block = nil } }
}
