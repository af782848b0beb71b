internal import RunLoopLibc

extension RunLoop.Message {
  /// Immutable bytes. Copies and slices share the memory, also with the receiver of a message [RLK-MSG-35].
  ///
  /// A slice keeps the indices of the bytes that it is a part of, like an array's slice [RLK-MSG-36].
  /// - Thread: Closures are called on the calling thread, before the return.
  public struct Bytes: @unchecked Sendable, Hashable, RandomAccessCollection, CustomStringConvertible {
    /// Nil if there are no bytes.
    package let storage: ByteStorage?
    /// The index of the first byte.
    public let startIndex: Int
    /// The index after the last byte.
    public let endIndex: Int

    package init(_ storage: ByteStorage?, _ range: Range<Int>) {
      self.storage = storage
      startIndex = range.lowerBound
      endIndex = range.upperBound
    }

    package init(_ storage: ByteStorage) { self.init(storage, 0..<storage.header.count) }

    /// Creates an empty value.
    public init() { self.init(nil, 0..<0) }

    /// Copies the bytes of a collection.
    public init(_ bytes: some Collection<UInt8>) {
      let count = bytes.count
      if count == 0 {
        self.init()
        return
      }
      self.init(
        unsafeUninitializedCapacity: count,
        initializingWith: { memory in
          if bytes.withContiguousStorageIfAvailable({ memory.copyMemory(from: UnsafeRawBufferPointer($0)) }) == nil {
            memory.copyBytes(from: bytes)
          }
          return count
        })
    }

    /// Copies memory, which the caller still owns.
    public init(copying memory: UnsafeRawBufferPointer) {
      if memory.count == 0 {
        self.init()
        return
      }
      self.init(
        unsafeUninitializedCapacity: memory.count,
        initializingWith: {
          $0.copyMemory(from: memory)
          return memory.count
        })
    }

    /// Encodes a text as UTF-8.
    public init(_ text: some StringProtocol) {
      var text = String(text)
      self = text.withUTF8 { Bytes(copying: UnsafeRawBufferPointer($0)) }
    }

    /// Creates bytes that `body` writes directly into their memory.
    ///
    /// - Parameters:
    ///   - capacity: At least 0 bytes.
    ///   - body: Initialises the memory from its start, and returns the number of bytes. Called once, before the
    ///     return, on the calling thread.
    public init<E: Error>(
      unsafeUninitializedCapacity capacity: Int,
      initializingWith body: (UnsafeMutableRawBufferPointer) throws(E) -> Int
    ) throws(E) {
      self.init(try ByteStorage.make(capacity: capacity, body))
    }

    /// The byte at an index.
    public subscript(position: Int) -> UInt8 {
      precondition(position >= startIndex && position < endIndex, "RunLoopKit: no byte at index \(position)")
      // Not nil, because nil stands for no bytes.
      return storage!.base.load(fromByteOffset: position, as: UInt8.self)
    }

    /// A slice, which shares the memory.
    public subscript(bounds: Range<Int>) -> Bytes {
      precondition(
        bounds.lowerBound >= startIndex && bounds.upperBound <= endIndex, "RunLoopKit: no bytes at \(bounds)")
      return Bytes(bounds.isEmpty ? nil : storage, bounds)
    }

    /// Calls `body` with the memory, on the calling thread. The memory is valid only during that call.
    public func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
      defer { withExtendedLifetime(storage) {} }
      return try body(UnsafeRawBufferPointer(start: storage.map { $0.base + startIndex }, count: count))
    }

    /// As `withUnsafeBytes(_:)`, for algorithms on collections. Calls `body` on the calling thread, before the return.
    public func withContiguousStorageIfAvailable<R>(_ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R? {
      defer { withExtendedLifetime(storage) {} }
      let memory = UnsafeRawBufferPointer(start: storage.map { $0.base + startIndex }, count: count)
      return try body(memory.assumingMemoryBound(to: UInt8.self))
    }

    /// True if both have the same bytes.
    public static func == (a: Bytes, b: Bytes) -> Bool {
      guard a.count == b.count else { return false }
      return a.withUnsafeBytes { first in
        b.withUnsafeBytes { second in
          first.count == 0 || first.baseAddress == second.baseAddress
            // Neither is empty here, so both have an address.
            || memcmp(first.baseAddress!, second.baseAddress!, first.count) == 0
        }
      }
    }

    /// Equal bytes have equal hashes. - Complexity: O(bytes).
    public func hash(into hasher: inout Hasher) {
      hasher.combine(count)
      withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// The number of bytes, in words.
    public var description: String { "\(count) bytes" }
  }
}

extension RunLoop.Message.Bytes: ExpressibleByArrayLiteral, ExpressibleByStringLiteral {
  /// Allows literals such as `[1, 2, 3]`.
  public init(arrayLiteral bytes: UInt8...) { self.init(bytes) }
  /// Allows literals such as `"text"`, which it encodes as UTF-8.
  public init(stringLiteral text: String) { self.init(text) }
}
