internal import CRunLoopCore

/// Looks for a wake for a while before a sleep, if that has been worth it: a thin owner of `rlc_spin`. Owner only.
struct Spin {
  /// Longer limits are cut to this.
  static let longest = UInt64(RLC_SPIN_MAX_NS)

  private var spin = rlc_spin()

  /// In nanoseconds; 0: never. What was learned under another limit is forgotten.
  var limit: UInt64 {
    get { spin.limit_ns }
    set { rlc_spin_set(&spin, newValue) }
  }

  /// True if something was posted: do not sleep.
  mutating func untilPosted(_ port: OpaquePointer, deadline: UInt64) -> Bool {
    rlc_spin_until_posted(&spin, port, nil, deadline)
  }
}
