/// The optional parts of an item that has a descriptor. Few items have any of them.
final class ItemDescriptors: Sendable {
  /// The item's descriptor, if the item closes it at its end.
  let owned: OwnedDescriptor?
  /// `owned` without a reference count, for code that retains the item.
  let heldOwned: Unmanaged<OwnedDescriptor>?
  /// What epoll watches in place of a descriptor that it refuses. Closed when the item is destroyed.
  let standIn: OwnedDescriptor?
  let limiter: RunLoop.RateLimiter?
  /// The reader that joins and leaves modes with the item.
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
