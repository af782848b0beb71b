internal import RunLoopLibc

/// Memory by malloc(3): `allocate(capacity:)` goes through posix_memalign(3) at twice the cost.
extension UnsafeMutablePointer where Pointee: ~Copyable {
  /// Allocates memory for one value, and puts the value there.
  static func make(_ value: consuming Pointee) -> Self {
    guard let memory = malloc(MemoryLayout<Pointee>.size) else { fatalError("RunLoopKit: malloc failed") }
    let pointer = memory.bindMemory(to: Pointee.self, capacity: 1)
    pointer.initialize(to: value)
    return pointer
  }

  /// Destroys the value, and frees the memory, that `make` has made.
  func destroy() {
    deinitialize(count: 1)
    free(self)
  }
}
