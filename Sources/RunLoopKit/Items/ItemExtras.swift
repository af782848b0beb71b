internal import Synchronization

/// The rarely used properties of an item. An item that uses none of them has no such object.
final class ItemExtras: @unchecked Sendable {
  private let lock = Lock()
  /// Guarded by `lock`.
  private var storedLabel: String?
  let order: Int
  let onlyLoop: UInt64?
  let descriptors: ItemDescriptors?
  var context: (any Sendable)?
  let isBackground = Atomic<Bool>(false)
  var isHidden = false
  var endsWithItsLoop = false
  // Where the program made the item. Declared last and in this order, so that the object keeps its size: 120 bytes, for
  // which malloc takes as much as for the 107 bytes before them.
  private var placeLine: UInt32 = 0
  private var placeFile: UInt = 0

  /// Set before the item is added.
  var place: CallPlace {
    get { CallPlace(file: placeFile, line: placeLine) }
    set { (placeFile, placeLine) = (newValue.file, newValue.line) }
  }

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

  init(order: Int = 0, onlyLoop: UInt64? = nil, descriptors: ItemDescriptors? = nil) {
    self.order = order
    self.onlyLoop = onlyLoop
    self.descriptors = descriptors
  }

  /// Returns the address of an object that the caller must release; 0 if all arguments have their default values.
  static func make(order: Int, onlyLoop: RunLoop?, descriptors: ItemDescriptors?) -> UInt {
    if order == 0, onlyLoop == nil, descriptors == nil { return 0 }
    let extras = ItemExtras(order: order, onlyLoop: onlyLoop?.serial, descriptors: descriptors)
    return UInt(bitPattern: Unmanaged.passRetained(extras).toOpaque())
  }
}
