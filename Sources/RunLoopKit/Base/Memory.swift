internal import RunLoopLibc

/// Allocates by malloc(3), because `allocate(capacity:)` calls posix_memalign(3), which costs twice as much.
extension UnsafeMutablePointer where Pointee: ~Copyable {
  /// Allocates memory for one value, and puts the value there.
  static func make(_ value: consuming Pointee) -> Self {
    guard let memory = malloc(MemoryLayout<Pointee>.size) else { fatalError("RunLoopKit: malloc failed") }
    let pointer = memory.bindMemory(to: Pointee.self, capacity: 1)
    pointer.initialize(to: value)
    return pointer
  }

  /// Destroys the value, and frees the memory that `make` has allocated.
  func destroy() {
    deinitialize(count: 1)
    free(self)
  }
}
