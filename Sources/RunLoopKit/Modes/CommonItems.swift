/// The record of the items that were added to the common modes (rule 52). It holds only one of several equal sources.
/// Guarded by the loop's lock.
struct CommonItems: ~Copyable {
  private var items: [UInt: Entry] = [:]

  struct Entry {
    let item: RunLoop.Item
    let stamp: UInt64
  }

  /// The items in the order of adding.
  var all: [RunLoop.Item] { items.values.sorted { $0.stamp < $1.stamp }.map(\.item) }

  /// Records the item. Returns false if the item or an equal source is recorded already.
  mutating func insert(_ item: RunLoop.Item, on loop: RunLoop) -> Bool {
    guard items[item.equality] == nil else { return false }
    let stamp = loop.nextStamp()
    items[item.equality] = Entry(item: item, stamp: stamp)
    item.linkRecord(of: loop, stamp: stamp)
    return true
  }

  mutating func remove(_ item: RunLoop.Item, from loop: RunLoop) {
    guard !items.isEmpty, forget(item, of: loop) else { return }
    item.unlinkRecord(of: loop)
  }

  /// Erases the record of an item, but not the item's link. Returns false if the item is not recorded.
  @discardableResult
  mutating func forget(_ item: RunLoop.Item, of loop: RunLoop) -> Bool {
    guard self.item(equalTo: item) === item else { return false }
    items[item.equality] = nil
    return true
  }

  /// The recorded item that equals this one: itself, or an equal source.
  func item(equalTo item: RunLoop.Item) -> RunLoop.Item? { items[item.equality]?.item }
}
