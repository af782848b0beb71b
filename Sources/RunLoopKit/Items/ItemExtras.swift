internal import Synchronization

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
