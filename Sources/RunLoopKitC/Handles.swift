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

/// A structure that begins with its size, which must be that of version 0.1 at least (decision 0025).
///
/// A member that a later version appends is read only if the size says that it is there.
@inline(__always)
func options<Options>(_ pointer: UnsafePointer<Options>?) -> Options? {
  guard let pointer, UnsafeRawPointer(pointer).load(as: Int.self) >= MemoryLayout<Options>.stride else { return nil }
  return pointer.pointee
}

/// As snprintf(3): the length of the whole text.
func copy(_ text: String, to buffer: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int32 {
  guard buffer != nil || size == 0 else { return Status.invalid }
  var text = text
  return text.withUTF8 { bytes in
    guard let length = Int32(exactly: bytes.count) else { return Status.overflow }
    guard let buffer, size > 0 else { return length }
    let count = min(bytes.count, size - 1)
    for index in 0..<count { buffer[index] = CChar(bitPattern: bytes[index]) }
    buffer[count] = 0
    return length
  }
}
