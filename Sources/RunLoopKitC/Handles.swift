internal import CRunLoopKit
internal import RunLoopKit

// Handles: the references that C holds. A handle is the address of the object: the same object has the same handle.

/// Returns a handle that the caller owns: a release function gives it back.
func owned(_ object: some AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passRetained(object).toOpaque()) }

/// Returns a borrowed handle: valid while others retain the object.
func borrowed(_ object: some AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passUnretained(object).toOpaque()) }

/// Returns the object of a handle; nil for NULL. It does not check the type.
func object<Object: AnyObject>(_ handle: OpaquePointer?, as type: Object.Type = Object.self) -> Object? {
  guard let handle else { return nil }
  // The contract obliges the caller to pass a handle that `owned` or `borrowed` has made.
  return Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
}

/// Returns the item of a handle; nil for NULL, and for an item of another kind.
func item<Kind: RunLoop.Item>(_ handle: OpaquePointer?, as kind: Kind.Type) -> Kind? {
  object(handle, as: RunLoop.Item.self) as? Kind
}

/// Returns the loop of a handle; for NULL the calling thread's loop.
func loop(_ handle: OpaquePointer?) -> RunLoop { object(handle) ?? RunLoop.current }

/// Counts one more reference, and returns the same handle.
func retain(_ handle: OpaquePointer?, _ type: (some AnyObject).Type) -> OpaquePointer? {
  object(handle, as: type).map { owned($0) }
}

func release<Object: AnyObject>(_ handle: OpaquePointer?, _ type: Object.Type) {
  guard let handle else { return }
  Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).release()
}

/// Returns the mode with a name; for NULL the default mode; nil if the name is no UTF-8.
func mode(_ name: UnsafePointer<CChar>?) -> RunLoop.Mode? {
  guard let name else { return .default }
  return String(validatingCString: name).map { RunLoop.Mode(rawValue: $0) }
}

/// A structure that begins with its size (decision 0025).
protocol Sized {
  /// The size in version 0.1, without what was appended since: every host has at least this.
  static var firstSize: UInt { get }
}

extension rlk_work: Sized { static var firstSize: UInt { 48 } }
extension rlk_observer_options: Sized { static var firstSize: UInt { 64 } }
extension rlk_source_options: Sized { static var firstSize: UInt { 88 } }
extension rlk_timer_options: Sized { static var firstSize: UInt { 80 } }
extension rlk_descriptor_options: Sized { static var firstSize: UInt { 48 } }
extension rlk_counter_options: Sized { static var firstSize: UInt { 40 } }
extension rlk_signal_options: Sized { static var firstSize: UInt { 48 } }
extension rlk_thread_options: Sized { static var firstSize: UInt { 48 } }
extension rlk_loop_statistics: Sized { static var firstSize: UInt { 88 } }
extension rlk_message_options: Sized { static var firstSize: UInt { 72 } }
extension rlk_port_options: Sized { static var firstSize: UInt { 56 } }
extension rlk_sender: Sized { static var firstSize: UInt { 24 } }
extension rlk_diagnostics: Sized { static var firstSize: UInt { 40 } }

/// Returns how many bytes of a host's structure this version knows; nil if the structure is shorter than in version
/// 0.1.
func knownSize<Options: Sized>(_ pointer: UnsafePointer<Options>) -> Int? {
  let size = UnsafeRawPointer(pointer).load(as: UInt.self)
  guard size >= Options.firstSize else { return nil }
  return min(Int(clamping: size), MemoryLayout<Options>.size)
}

/// Copies a host's structure in the form of this version. Members that an older host does not have are 0; members that
/// only a newer host has are ignored.
func options<Options: Sized>(_ pointer: UnsafePointer<Options>?) -> Options? {
  guard let pointer, let size = knownSize(pointer) else { return nil }
  guard size < MemoryLayout<Options>.size else { return pointer.pointee }
  return withUnsafeTemporaryAllocation(of: Options.self, capacity: 1) { known in
    let bytes = UnsafeMutableRawBufferPointer(known)
    bytes.initializeMemory(as: UInt8.self, repeating: 0)
    bytes.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: size))
    return known[0]
  }
}

// MARK: After fork(2)

/// Changes a loop; returns an error if it has ended, or if this process has inherited it.
func changing(_ handle: OpaquePointer?, _ change: (RunLoop) -> Void) -> Int32 {
  let loop = loop(handle)
  guard loop.isInThisProcess else { return Status.forked }
  guard !loop.hasEnded else { return Status.ended }
  change(loop)
  return 0
}

/// Changes an item, valid or not; returns an error if this process has inherited it.
func changing(_ item: RunLoop.Item, _ change: () -> Void) -> Int32 {
  guard !item.isForked else { return Status.forked }
  change()
  return 0
}

/// Returns the error of an item that can no longer be changed; 0 if it can be changed.
func end(of item: RunLoop.Item) -> Int32 {
  if item.isForked { return Status.forked }
  return item.isValid ? 0 : Status.gone
}

// MARK: Texts

/// Copies a text as snprintf(3) does, and returns the length of the whole text. Cuts between characters only.
func copy(_ text: String, to buffer: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int32 {
  guard buffer != nil || size == 0 else { return Status.invalid }
  var text = text
  return text.withUTF8 { bytes in
    guard let length = Int32(exactly: bytes.count) else { return Status.overflow }
    guard let buffer, size != 0 else { return length }
    // A size_t that is too large for Int is negative here.
    var count = min(bytes.count, size < 0 ? .max : size - 1)
    if count < bytes.count {
      while count > 0, bytes[count] & 0xc0 == 0x80 { count -= 1 }
    }
    for index in 0..<count { buffer[index] = CChar(bitPattern: bytes[index]) }
    buffer[count] = 0
    return length
  }
}
