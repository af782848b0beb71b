internal import RunLoopLibc

/// Memory that several `Bytes` share, each of which shows a part of it. It never changes after `make` has returned it.
///
/// The bytes lie behind the header of this object. If they belong to another object, such as a mapping, this object
/// retains that owner instead.
package final class ByteStorage: ManagedBuffer<ByteStorage.Header, UInt8> {
  package struct Header {
    let base: UnsafeMutableRawPointer
    var count: Int
    /// Frees the memory when it is destroyed; nil if the bytes lie in this object.
    package let owner: AnyObject?
  }

  /// Allocates memory, which `fill` initialises from its start. `fill` returns the number of initialised bytes.
  package static func make<E: Error>(
    capacity: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(E) -> Int
  ) throws(E) -> ByteStorage {
    let storage = made(capacity: capacity) { buffer in
      buffer.withUnsafeMutablePointerToElements {
        Header(base: UnsafeMutableRawPointer($0), count: 0, owner: nil)
      }
    }
    let count = try fill(UnsafeMutableRawBufferPointer(start: storage.header.base, count: capacity))
    precondition(count >= 0 && count <= capacity, "RunLoopKit: more bytes than there is room for")
    storage.header.count = count
    return storage
  }

  /// Makes a storage that shows the memory of `owner`. The memory must not change any more.
  package static func make(_ memory: UnsafeMutableRawBufferPointer, owner: AnyObject) -> ByteStorage {
    made(capacity: 0) { _ in
      // The memory is a mapping, whose address is not 0.
      Header(base: memory.baseAddress!, count: memory.count, owner: owner)
    }
  }

  private static func made(
    capacity: Int, _ makeHeader: (ManagedBuffer<Header, UInt8>) -> Header
  ) -> ByteStorage {
    // `create` makes an object of the class that it is called on. Here that is this class, which is final.
    unsafeDowncast(create(minimumCapacity: capacity, makingHeaderWith: makeHeader), to: ByteStorage.self)
  }

  package var base: UnsafeRawPointer {
    // `header.base` would check for exclusive access at each call.
    withUnsafeMutablePointerToHeader { UnsafeRawPointer($0.pointee.base) }
  }
}
