internal import Synchronization

/// An object that exists once in a process.
package protocol ProcessWideObject: AnyObject, Sendable {
  /// Identifies the process that created the object. The object's lock has stored it.
  var forkGeneration: UInt32 { get }
}

/// The one object of its type in this process, created at its first use and kept for ever. A child of fork(2) creates
/// its own, because a thread of the parent may have been changing the inherited one at the fork.
package struct ProcessWide<Object: ProcessWideObject>: ~Copyable, Sendable {
  /// The address of the object; 0 before the first is created.
  private let address = Atomic<UInt>(0)

  package init() {}

  /// False if neither this process nor an ancestor has created one. - Thread: Any.
  package var isMade: Bool { address.load(ordering: .acquiring) != 0 }

  /// Nil before this process has created it. - Thread: Any.
  package var existing: Object? { object(at: address.load(ordering: .acquiring)) }

  /// Returns the object, and creates it in the first call. Threads that make the first call at the same time get the
  /// same object, and the other results of `make` are released. - Thread: Any.
  package func current(_ make: () -> Object) -> Object {
    while true {
      let seen = address.load(ordering: .acquiring)
      if let object = object(at: seen) { return object }
      let made = Unmanaged.passRetained(make())
      let (exchanged, _) = address.compareExchange(
        expected: seen, desired: UInt(bitPattern: made.toOpaque()), ordering: .sequentiallyConsistent)
      // A replaced object is the parent process's. It is kept, since it may be in use further up the stack.
      if exchanged { return made.takeUnretainedValue() }
      made.release()
    }
  }

  private func object(at address: UInt) -> Object? {
    guard let pointer = UnsafeRawPointer(bitPattern: address) else { return nil }
    // Only retained objects are stored, and none is ever released.
    let object = Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
    return object.forkGeneration == Kernel.forkGeneration ? object : nil
  }
}
