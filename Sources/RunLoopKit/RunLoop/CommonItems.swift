/// The record of the items that were added to the common modes (rule 52), by identity. Guarded by the loop's lock.
struct CommonItems: ~Copyable {
  private var items: [ObjectIdentifier: Entry] = [:]

  struct Entry {
    let item: RunLoop.Item
    let stamp: UInt64
  }

  /// In the order of adding.
  var all: [RunLoop.Item] { items.values.sorted { $0.stamp < $1.stamp }.map(\.item) }

  /// False if it is recorded already.
  mutating func insert(_ item: RunLoop.Item, on loop: RunLoop) -> Bool {
    guard items[ObjectIdentifier(item)] == nil else { return false }
    if let source = item.withIdentity { loop.identityCame(source) }
    let stamp = loop.nextStamp()
    items[ObjectIdentifier(item)] = Entry(item: item, stamp: stamp)
    item.linkRecord(of: loop, stamp: stamp)
    return true
  }

  mutating func remove(_ item: RunLoop.Item, from loop: RunLoop) {
    guard !items.isEmpty, forget(item, of: loop) else { return }
    item.unlinkRecord(of: loop)
  }

  /// Its link is gone already. False if it is not recorded.
  @discardableResult
  mutating func forget(_ item: RunLoop.Item, of loop: RunLoop) -> Bool {
    guard items.removeValue(forKey: ObjectIdentifier(item)) != nil else { return false }
    if let source = item.withIdentity { loop.identityLeft(source) }
    return true
  }

  /// What counts as the item: itself, or an equal source.
  func item(equalTo item: RunLoop.Item, _ equals: EqualSources) -> RunLoop.Item? {
    if let common = items[ObjectIdentifier(item)] { return common.item }
    return equals.of(item).first { items[ObjectIdentifier($0)] != nil }
  }
}
