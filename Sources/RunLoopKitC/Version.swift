internal import CRunLoopKit

// The function of <runloopkit/version.h>, where its contract stands.

/// Computes RLK_VERSION, which Swift cannot import: it uses a macro with parameters.
@c @implementation
package func rlk_version() -> UInt32 {
  UInt32(RLK_VERSION_MAJOR * 1_000_000 + RLK_VERSION_MINOR * 1000 + RLK_VERSION_PATCH)
}
