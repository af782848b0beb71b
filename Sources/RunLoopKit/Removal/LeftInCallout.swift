internal import Synchronization

/// The items that have left a loop while their callout was on its stack: no membership leads to that loop any more, but
/// a removal with an answer has to ask it. An entry goes when its callout ends.
final class LeftInCallout: ProcessWideObject {
  private let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// Of the entries, to pass by an empty table.
  private let count = Atomic<Int>(0)
  private nonisolated(unsafe) var entries: ContiguousArray<Entry> = []

  private struct Entry {
    let item: ObjectIdentifier
    let loop: RunLoop
  }

  private static let table = ProcessWide<LeftInCallout>()

  /// True if no item has left a loop in its callout, that the calling thread could know of. No lock.
  @inline(__always)
  static var isEmpty: Bool { !table.isMade || isFoundEmpty }

  /// Apart, so that who finds no table saves fewer registers.
  @inline(never)
  private static var isFoundEmpty: Bool { (table.existing?.count.load(ordering: .acquiring) ?? 0) == 0 }

  /// Under the loop's and the item's locks, in one section with the end of the membership.
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

  /// The loops that have the item's callout, or had it a moment ago.
  static func loops(of item: ObjectIdentifier) -> [RunLoop] {
    guard let table = table.existing else { return [] }
    return table.lock.withLock { table.entries.filter { $0.item == item }.map(\.loop) }
  }

  /// Takes out what has no callout on the loop's stack any more; how many. [loop]
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
  /// With each membership that ends, in the same section of the leaf lock and under the lock of the loop: the item's
  /// callout may be on the loop's stack.
  @inline(__always)
  func noteLeaving(_ item: Item) {
    if callouts.isOnStack(ObjectIdentifier(item), of: self) { LeftInCallout.insert(ObjectIdentifier(item), of: self) }
  }
}
