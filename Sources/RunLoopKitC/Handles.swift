internal import CRunLoopKit
internal import RunLoopKit

// References as C holds them. A handle is the address of the object: the same object has the same handle.

/// A reference that is the caller's: a release function gives it back.
func owned(_ object: some AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passRetained(object).toOpaque()) }

/// A handle that is the caller's for as long as somebody else holds the object.
@inline(__always)
func borrowed(_ object: some AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passUnretained(object).toOpaque()) }

/// What a handle stands for. Of an item the kind is looked at: nil for one of another kind.
@inline(__always)
func object<Object: AnyObject>(_ handle: OpaquePointer?, as type: Object.Type = Object.self) -> Object? {
  guard let handle else { return nil }
  // Made by `owned` or `borrowed`, which is the caller's part of the contract.
  return Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
}

@inline(__always)
func item<Kind: RunLoop.Item>(_ handle: OpaquePointer?, as kind: Kind.Type) -> Kind? {
  object(handle, as: RunLoop.Item.self) as? Kind
}

/// NULL: the calling thread's.
@inline(__always)
func loop(_ handle: OpaquePointer?) -> RunLoop { object(handle) ?? RunLoop.current }

/// Counts one more reference, and answers the same handle.
func retain(_ handle: OpaquePointer?, _ type: (some AnyObject).Type) -> OpaquePointer? {
  object(handle, as: type).map { owned($0) }
}

func release<Object: AnyObject>(_ handle: OpaquePointer?, _ type: Object.Type) {
  guard let handle else { return }
  Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).release()
}

/// The name of a mode; nil if it is no UTF-8.
@inline(__always)
func mode(_ name: UnsafePointer<CChar>?) -> RunLoop.Mode? {
  guard let name else { return .default }
  return String(validatingCString: name).map { RunLoop.Mode(rawValue: $0) }
}

/// A structure that begins with its size (decision 0025).
protocol Sized {
  /// Of version 0.1, whatever was appended since: no host gives less.
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

/// How many bytes of what this version knows a structure has; nil if it is shorter than in version 0.1.
@inline(__always)
func knownSize<Options: Sized>(_ pointer: UnsafePointer<Options>) -> Int? {
  let size = UnsafeRawPointer(pointer).load(as: UInt.self)
  guard size >= Options.firstSize else { return nil }
  return min(Int(clamping: size), MemoryLayout<Options>.size)
}

/// What C gives, as this version knows it: a member that an older host does not have is 0, one that a newer host has
/// beyond it is ignored.
@inline(__always)
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

/// Changes a loop: an error if it has ended, or if this process has inherited it.
@inline(__always)
func changing(_ handle: OpaquePointer?, _ change: (RunLoop) -> Void) -> Int32 {
  let loop = loop(handle)
  guard loop.isInThisProcess else { return Status.forked }
  guard !loop.hasEnded else { return Status.ended }
  change(loop)
  return 0
}

/// Changes an item, valid or not: an error if this process has inherited it.
@inline(__always)
func changing(_ item: RunLoop.Item, _ change: () -> Void) -> Int32 {
  guard !item.isForked else { return Status.forked }
  change()
  return 0
}

/// Why an item cannot be changed any more; 0 if it can.
@inline(__always)
func end(of item: RunLoop.Item) -> Int32 {
  if item.isForked { return Status.forked }
  return item.isValid ? 0 : Status.gone
}

// MARK: Texts

/// As snprintf(3): the length of the whole text. What is cut off begins with a whole character.
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
