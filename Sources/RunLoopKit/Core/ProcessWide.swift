internal import Synchronization

/// What there is one of in a process.
package protocol ProcessWideObject: AnyObject, Sendable {
  init()
  /// Of the process that made it: its lock's.
  var forkGeneration: UInt32 { get }
}

/// The one object of its type in this process: made when it is first wanted, and kept for ever. A child of fork(2)
/// makes its own, since another thread may have held the lock of the inherited one.
package struct ProcessWide<Object: ProcessWideObject>: ~Copyable, Sendable {
  /// An address; 0 before the first.
  private let address = Atomic<UInt>(0)

  package init() {}

  /// False if nobody has made one, neither this process nor one that it comes from. - Thread: Any.
  @inline(__always)
  package var isMade: Bool { address.load(ordering: .acquiring) != 0 }

  /// Nil before this process has made it. - Thread: Any.
  package var existing: Object? { object(at: address.load(ordering: .acquiring)) }

  /// - Thread: Any; threads that come first at the same time get the same one.
  package var current: Object {
    while true {
      let seen = address.load(ordering: .acquiring)
      if let object = object(at: seen) { return object }
      let made = Unmanaged.passRetained(Object())
      let (exchanged, _) = address.compareExchange(
        expected: seen, desired: UInt(bitPattern: made.toOpaque()), ordering: .sequentiallyConsistent)
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
