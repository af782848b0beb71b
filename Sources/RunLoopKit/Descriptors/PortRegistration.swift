internal import CRunLoopCore

/// How an item's descriptor is registered in a port set.
package struct PortRegistration {
  let fileDescriptor: Int32
  let isCounter: Bool
  let interest: UInt32

  package static let readable = UInt32(RLC_READABLE)
  package static let priority = UInt32(RLC_PRIORITY)
  /// The kernel reports these whatever the interest is, and the core reports them once.
  package static let ended = UInt32(RLC_HANGUP | RLC_ERROR)
  package static let writable = UInt32(RLC_WRITABLE)
  /// An error and nothing else. For a counter it means that the read has failed.
  static let failed = UInt32(RLC_ERROR)
  // How the core reports readiness.
  package static let edge = UInt8(RLC_EDGE)
  static let oneShot = UInt8(RLC_ONE_SHOT)
  static let shared = UInt8(RLC_SHARED)
}
