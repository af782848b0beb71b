internal import Synchronization

/// Blocks that wait for one of their modes, in the order of queueing. Guarded by the loop's lock.
struct BlockQueue {
  struct Entry {
    let mode: ModePointer
    /// The further modes of a block that has several.
    let others: [ModePointer]
    var body: (() -> Void)?

    /// Called for each mode once: a list may name one twice.
    @inline(__always)
    func forEachMode(_ body: (ModePointer) -> Void) {
      body(mode)
      if others.isEmpty { return }
      for (index, other) in others.enumerated() where other != mode && !others[..<index].contains(other) { body(other) }
    }
  }

  typealias Entries = ContiguousArray<Entry>

  private var entries: Entries = []
  /// The storage of the last drain, empty: two arrays take turns, so that a steady loop allocates nothing.
  private var spare: Entries = []

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }

  mutating func append(_ entry: consuming Entry) {
    entries.append(entry)
    entries[entries.count - 1].forEachMode { $0.pointee.pendingBlockCount.add(1, ordering: .relaxed) }
  }

  /// Takes the whole queue; what is queued from now on waits for the next drain.
  mutating func detach() -> Entries {
    var detached = Entries()
    swap(&detached, &spare)
    swap(&detached, &entries)
    for index in detached.indices {
      detached[index].forEachMode { $0.pointee.pendingBlockCount.subtract(1, ordering: .relaxed) }
    }
    return detached
  }

  /// Puts what did not match back, before anything queued meanwhile.
  mutating func putBack(_ kept: Entries) {
    for entry in kept { entry.forEachMode { $0.pointee.pendingBlockCount.add(1, ordering: .relaxed) } }
    entries.insert(contentsOf: kept, at: 0)
  }

  /// Returns an emptied array for reuse.
  mutating func recycle(_ storage: inout Entries) {
    if spare.capacity < storage.capacity { swap(&spare, &storage) }
  }
}
