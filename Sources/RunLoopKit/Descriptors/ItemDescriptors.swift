/// The rarely used properties of an item with a descriptor. An item that uses none of them has no such object.
final class ItemDescriptors: Sendable {
  /// Closed when the item ends.
  let owned: OwnedDescriptor?
  /// `owned` without reference counting. The caller must retain the item.
  let heldOwned: Unmanaged<OwnedDescriptor>?
  /// Loops watch it in place of the item's descriptor. Closed when the item is destroyed.
  let standIn: OwnedDescriptor?
  /// Limits how often the loop calls the item.
  let limiter: RunLoop.RateLimiter?
  /// Reads for the item, and is a member of each mode that the item is in.
  let reader: SharedReader?

  init(
    owned: OwnedDescriptor? = nil, standIn: OwnedDescriptor? = nil, limiter: RunLoop.RateLimiter? = nil,
    reader: SharedReader? = nil
  ) {
    self.owned = owned
    self.reader = reader
    heldOwned = owned.map { Unmanaged.passUnretained($0) }
    self.standIn = standIn
    self.limiter = limiter
  }

  static func make(limit: RunLoop.RateLimit?) -> ItemDescriptors? {
    limit.map { ItemDescriptors(limiter: RunLoop.RateLimiter($0)) }
  }

  /// Called when the item is invalid and has left its modes.
  func end() {
    limiter?.end()
    owned?.giveUp()
  }
}
