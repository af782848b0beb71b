internal import Synchronization

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

/// What few items have: those with nothing of it do without the object.
final class ItemExtras: @unchecked Sendable {
  private let lock = Lock()
  /// Guarded by `lock`.
  private var storedLabel: String?
  let order: Int
  let onlyHost: UInt64?
  let descriptors: ItemDescriptors?
  var context: (any Sendable)?
  /// It does not keep its modes from being finished.
  let isBackground = Atomic<Bool>(false)
  /// Programs cannot find it.
  var isHidden = false
  /// Invalidated by the end of its loop.
  var endsWithItsLoop = false

  var label: String? {
    get { lock.withLock { storedLabel } }
    set {
      let old = lock.withLock {
        defer { storedLabel = newValue }
        return storedLabel
      }
      withExtendedLifetime(old) {}
    }
  }

  init(order: Int = 0, onlyHost: UInt64? = nil, descriptors: ItemDescriptors? = nil) {
    self.order = order
    self.onlyHost = onlyHost
    self.descriptors = descriptors
  }

  /// The address of one that the caller holds; 0 if there is nothing to keep.
  static func make(order: Int, onlyHost: RunLoop?, descriptors: ItemDescriptors?) -> UInt {
    if order == 0, onlyHost == nil, descriptors == nil { return 0 }
    let extras = ItemExtras(order: order, onlyHost: onlyHost?.serial, descriptors: descriptors)
    return UInt(bitPattern: Unmanaged.passRetained(extras).toOpaque())
  }
}
