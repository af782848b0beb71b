internal import Synchronization

// What its items, modes and ports ask of a loop.

extension RunLoop {
  /// Makes it look, if it sleeps. Any thread.
  @inline(__always)
  func kick() { wakes.word.kick() }

  /// The descriptor that wakes it, made with its first port set. Under the lock, as what follows.
  func makeWakeup() throws(RunLoopError) -> Int32 {
    let descriptor = try wakes.word.make()
    wakes.word.reportLosses(to: self)
    return descriptor
  }

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
