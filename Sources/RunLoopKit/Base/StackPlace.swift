internal import CRunLoopCore

/// Where something lies on the calling thread's stack. Only told apart from other places: it may be left.
struct StackPlace {
  let address: UInt

  /// Tells AddressSanitizer that no frame lies deeper on the stack. The main thread calls it at its end.
  static func framesAreLeft() { rlc_kit_frames_are_left() }

  /// Where the caller's variable lies.
  @inline(__always)
  init<Value>(_ variable: UnsafePointer<Value>) { address = UInt(bitPattern: variable) }

  /// Whether a run was left whose mark, this address, lay at `other`. As seen from a call of something else. Never
  /// under AddressSanitizer while it keeps variables elsewhere (`detect_stack_use_after_return`).
  func sees(left other: UInt) -> Bool { !rlc_kit_has_fake_stack() && rlc_kit_is_left(other, address) }

  /// The same, as seen from where the mark of a run that begins lies.
  func seesRun(left other: UInt) -> Bool {
    !rlc_kit_has_fake_stack() && rlc_kit_is_left(other, address + UInt(RLC_KIT_BETWEEN_RUNS))
  }
}
