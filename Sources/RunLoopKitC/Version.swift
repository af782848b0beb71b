internal import CRunLoopKit

// The body of <runloopkit/version.h>; what it promises stands there.

/// As RLK_VERSION, which Swift does not see: it takes parameters.
@c @implementation
package func rlk_version() -> UInt32 {
  UInt32(RLK_VERSION_MAJOR * 1_000_000 + RLK_VERSION_MINOR * 1000 + RLK_VERSION_PATCH)
}
