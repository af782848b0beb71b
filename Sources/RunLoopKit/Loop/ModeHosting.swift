internal import Synchronization

// What its items, modes and ports ask of a loop.

extension RunLoop {
  func runs(in mode: ModePointer) -> Bool { state.currentMode == mode }

  /// A number that grows with every membership.
  @inline(__always)
  func nextStamp() -> UInt64 { state.nextStamp() }

  /// The mode has no members that need its descriptors.
  @inline(__always)
  func mayHaveIdled(_ mode: ModePointer) {
    if mode.useCount == 0, !state.idleModes.isLatest(mode) { noteIdle(mode) }
  }

  @inline(never)
  private func noteIdle(_ mode: ModePointer) { state.idleModes.note(mode, among: state.modes) }
}
