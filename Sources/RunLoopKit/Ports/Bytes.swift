internal import Glibc

extension RunLoop.Message {
  /// Immutable bytes. Copies and slices share the memory, also with the receiver of a message [RLK-MSG-35].
  ///
  /// A slice has the indices of what it is a slice of, as slices of arrays have [RLK-MSG-36].
  /// - Thread: Any: a value. Closures are called on the calling thread, before the return.
  public struct Bytes: @unchecked Sendable, Hashable, RandomAccessCollection, CustomStringConvertible {
    /// Nil: no bytes. Never changes once it is here.
    package let storage: ByteStorage?
    /// Where the first one is.
    public let startIndex: Int
    /// After the last one.
    public let endIndex: Int

    package init(_ storage: ByteStorage?, _ range: Range<Int>) {
      self.storage = storage
      startIndex = range.lowerBound
      endIndex = range.upperBound
    }

    package init(_ storage: ByteStorage) { self.init(storage, 0..<storage.header.count) }

    /// No bytes.
    public init() { self.init(nil, 0..<0) }

    /// A copy of the bytes.
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

    /// A copy of the memory.
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

    /// The text in UTF-8.
    public init(_ text: some StringProtocol) {
      var text = String(text)
      self = text.withUTF8 { Bytes(copying: UnsafeRawBufferPointer($0)) }
    }

    /// Bytes that are made in their place.
    ///
    /// - Parameters:
    ///   - capacity: At least 0 bytes.
    ///   - body: Initialises the memory from its start, and answers how many bytes of it; called here.
    public init<E: Error>(
      unsafeUninitializedCapacity capacity: Int,
      initializingWith body: (UnsafeMutableRawBufferPointer) throws(E) -> Int
    ) throws(E) {
      self.init(try ByteStorage.make(capacity: capacity, body))
    }

    /// The byte at an index.
    public subscript(position: Int) -> UInt8 {
      precondition(position >= startIndex && position < endIndex, "RunLoopKit: no byte at index \(position)")
      // There is a byte, hence a storage: nil stands for no bytes.
      return storage!.base.load(fromByteOffset: position, as: UInt8.self)
    }

    /// A part, which shares the memory.
    public subscript(bounds: Range<Int>) -> Bytes {
      precondition(
        bounds.lowerBound >= startIndex && bounds.upperBound <= endIndex, "RunLoopKit: no bytes at \(bounds)")
      return Bytes(bounds.isEmpty ? nil : storage, bounds)
    }

    /// The memory, for the time of the call, which is made here.
    public func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
      defer { withExtendedLifetime(storage) {} }
      return try body(UnsafeRawBufferPointer(start: storage.map { $0.base + startIndex }, count: count))
    }

    /// For collections' algorithms: `body` is called here.
    public func withContiguousStorageIfAvailable<R>(_ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R? {
      defer { withExtendedLifetime(storage) {} }
      let memory = UnsafeRawBufferPointer(start: storage.map { $0.base + startIndex }, count: count)
      return try body(memory.assumingMemoryBound(to: UInt8.self))
    }

    /// The same bytes.
    public static func == (a: Bytes, b: Bytes) -> Bool {
      guard a.count == b.count else { return false }
      return a.withUnsafeBytes { first in
        b.withUnsafeBytes { second in
          first.count == 0 || first.baseAddress == second.baseAddress
            // Both have bytes here.
            || memcmp(first.baseAddress!, second.baseAddress!, first.count) == 0
        }
      }
    }

    /// In accordance with equality. - Complexity: O(bytes).
    public func hash(into hasher: inout Hasher) {
      hasher.combine(count)
      withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// How many.
    public var description: String { "\(count) bytes" }
  }
}

extension RunLoop.Message.Bytes: ExpressibleByArrayLiteral, ExpressibleByStringLiteral {
  /// As in `[1, 2, 3]`.
  public init(arrayLiteral bytes: UInt8...) { self.init(bytes) }
  /// As in `"text"`: its UTF-8.
  public init(stringLiteral text: String) { self.init(text) }
}
