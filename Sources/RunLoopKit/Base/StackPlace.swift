internal import CRunLoopCore

/// An address on the calling thread's stack. The frame that was there may have ended since.
struct StackPlace {
  let address: UInt

  /// Reports to AddressSanitizer that no frame lies deeper on the stack. The main thread calls it at its end.
  static func framesAreLeft() { rlc_kit_frames_are_left() }

  /// The place of the caller's variable.
  init<Value>(_ variable: UnsafePointer<Value>) { address = UInt(bitPattern: variable) }

  /// Whether an exception or longjmp(3) has left the run whose mark is at `other`, as seen from a call at this place. A
  /// mark is a variable that holds its own address. Always false while AddressSanitizer keeps variables outside the
  /// stack (`detect_stack_use_after_return`).
  func sees(left other: UInt) -> Bool { !rlc_kit_has_fake_stack() && rlc_kit_is_left(other, address) }

  /// Returns what `sees` returns, but for a run that begins. This place is that run's mark.
  func seesRun(left other: UInt) -> Bool {
    !rlc_kit_has_fake_stack() && rlc_kit_is_left(other, address + UInt(RLC_KIT_BETWEEN_RUNS))
  }
}
