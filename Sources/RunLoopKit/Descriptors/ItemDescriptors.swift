/// What few items with a descriptor have.
final class ItemDescriptors: Sendable {
  /// Closed with the item.
  let owned: OwnedDescriptor?
  /// The same, without a count of references: for who holds the item.
  let heldOwned: Unmanaged<OwnedDescriptor>?
  /// Watched in place of the descriptor; closed when the item is gone.
  let standIn: OwnedDescriptor?
  /// How often it may be called.
  let limiter: RunLoop.RateLimiter?
  /// Is in its modes with it.
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

  /// The item is invalid and has left its modes.
  func end() {
    limiter?.end()
    owned?.giveUp()
  }
}
