internal import CRunLoopCore

/// How a port wants to be registered.
package struct PortRegistration {
  let fileDescriptor: Int32
  let isCounter: Bool
  let interest: UInt32

  package static let readable = UInt32(RLC_READABLE)
  package static let priority = UInt32(RLC_PRIORITY)
  /// What is reported once, whatever the interest is.
  package static let ended = UInt32(RLC_HANGUP | RLC_ERROR)
  package static let writable = UInt32(RLC_WRITABLE)
  /// An error, and nothing else: of a counter, a read that has failed.
  static let failed = UInt32(RLC_ERROR)
  /// How a readiness port reports.
  package static let edge = UInt8(RLC_EDGE)
  static let oneShot = UInt8(RLC_ONE_SHOT)
  static let shared = UInt8(RLC_SHARED)
}
