internal import RunLoopLibc

/// Memory that never changes once its maker has let go of it, shared by all `Bytes` that show parts of it.
///
/// One object with the bytes behind its header; or, for memory that belongs to something else (a mapping), with that
/// owner.
package final class ByteStorage: ManagedBuffer<ByteStorage.Header, UInt8> {
  package struct Header {
    let base: UnsafeMutableRawPointer
    var count: Int
    /// Whose end gives the memory back; nil: it is the object's own.
    package let owner: AnyObject?
  }

  /// Memory of its own, which `fill` initialises from its start: it answers how much.
  package static func make<E: Error>(
    capacity: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(E) -> Int
  ) throws(E) -> ByteStorage {
    let made = create(minimumCapacity: capacity) { buffer in
      buffer.withUnsafeMutablePointerToElements {
        Header(base: UnsafeMutableRawPointer($0), count: 0, owner: nil)
      }
    }
    // `ManagedBuffer.create` makes an object of the class that it is called on: this one, which is final.
    let storage = unsafeDowncast(made, to: ByteStorage.self)
    let count = try fill(UnsafeMutableRawBufferPointer(start: storage.header.base, count: capacity))
    precondition(count >= 0 && count <= capacity, "RunLoopKit: more bytes than there is room for")
    storage.header.count = count
    return storage
  }

  /// The memory of `owner`, which does not change any more.
  package static func make(_ memory: UnsafeMutableRawBufferPointer, owner: AnyObject) -> ByteStorage {
    let made = create(minimumCapacity: 0) { _ in
      // A mapping, whose address is not 0.
      Header(base: memory.baseAddress!, count: memory.count, owner: owner)
    }
    // As above.
    return unsafeDowncast(made, to: ByteStorage.self)
  }

  package var base: UnsafeRawPointer {
    // As `header.base`, which checks for exclusive access each time.
    withUnsafeMutablePointerToHeader { UnsafeRawPointer($0.pointee.base) }
  }
}
