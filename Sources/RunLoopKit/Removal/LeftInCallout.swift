internal import Synchronization

/// The items that left a loop while their callout was on the loop's stack. No membership leads to that loop any more,
/// but a removal that waits for callouts must query it. The end of the callout removes the entry.
final class LeftInCallout: ProcessWideObject {
  private let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// The number of entries. Read without the lock, to skip an empty table.
  private let count = Atomic<Int>(0)
  private nonisolated(unsafe) var entries: ContiguousArray<Entry> = []

  private struct Entry {
    let item: ObjectIdentifier
    let loop: RunLoop
  }

  private static let table = ProcessWide<LeftInCallout>()

  /// True if the table is empty. Takes no lock, because a caller that has held an item's leaf lock sees the item's
  /// entries.
  @inline(__always)
  static var isEmpty: Bool { !table.isMade || isFoundEmpty }

  /// A function of its own, so that callers save fewer registers if there is no table.
  @inline(never)
  private static var isFoundEmpty: Bool { (table.existing?.count.load(ordering: .acquiring) ?? 0) == 0 }

  /// Called under the loop's and the item's locks, in the section that ends the membership.
  @inline(never)
  static func insert(_ item: ObjectIdentifier, of loop: RunLoop) {
    let table = table.current(LeftInCallout.init)
    table.lock.withLock {
      guard !table.entries.contains(where: { $0.item == item && $0.loop === loop }) else { return }
      table.entries.append(Entry(item: item, loop: loop))
      table.count.store(table.entries.count, ordering: .releasing)
      loop.callouts.attention.add(1, ordering: .sequentiallyConsistent)
    }
  }

  /// The loops that the item left in its callout. The callout may have ended a moment ago.
  static func loops(of item: ObjectIdentifier) -> [RunLoop] {
    guard let table = table.existing else { return [] }
    return table.lock.withLock { table.entries.filter { $0.item == item }.map(\.loop) }
  }

  /// Removes the loop's entries whose callouts have ended, and returns how many. - Thread: The loop's own.
  static func take(of loop: RunLoop) -> Int {
    guard let table = table.existing else { return 0 }
    let over = loop.lock.withLock {
      table.lock.withLock {
        let over = table.entries.filter { $0.loop === loop && !loop.callouts.isOnStack($0.item, of: loop) }
        if !over.isEmpty { table.entries.removeAll { $0.loop === loop && !loop.callouts.isOnStack($0.item, of: loop) } }
        table.count.store(table.entries.count, ordering: .releasing)
        return over
      }
    }
    return over.count
  }
}

extension RunLoop {
  /// Called for each membership that ends, under the loop's lock and the leaf lock that guards the membership. Notes
  /// the item if its callout is on the loop's stack.
  @inline(__always)
  func noteLeaving(_ item: Item) {
    if callouts.isOnStack(ObjectIdentifier(item), of: self) { LeftInCallout.insert(ObjectIdentifier(item), of: self) }
  }
}
