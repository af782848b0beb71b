internal import Synchronization

// What its items, modes and ports ask of a loop.

extension RunLoop {
  /// A number that grows with every membership.
  @inline(__always)
  func nextStamp() -> UInt64 { state.nextStamp() }
}
