/// The modes of a loop that have descriptors but need none now. The few modes that were used last keep theirs, so a
/// program that uses a mode again and again does not pay for new ones each time. Guarded by the loop's lock.
struct IdleModes {
  /// The stamp of the mode that was noted last. After 2^32 notes the stamps repeat, and one mode too many or too few
  /// may keep its descriptors.
  private var lastStamp: UInt32 = 0
  private static let most = 4

  /// True if the mode was the last to be noted.
  @inline(__always)
  func isLatest(_ mode: ModePointer) -> Bool { mode.idleStamp != 0 && mode.idleStamp == lastStamp }

  /// Notes that the mode may have become idle. If more than `most` modes are idle, closes the descriptors of the one
  /// that was noted first. Complexity: O(modes).
  mutating func note(_ mode: ModePointer, among modes: ContiguousArray<ModePointer>) {
    guard mode.isIdle else { return }
    lastStamp = lastStamp == .max ? 1 : lastStamp + 1
    mode.idleStamp = lastStamp
    var count = 0
    var oldest = mode
    for other in modes where other.isIdle && other.idleStamp != 0 {
      count += 1
      if other.idleStamp < oldest.idleStamp { oldest = other }
    }
    if count > Self.most { oldest.giveBackDescriptors() }
  }
}

extension ModePointer {
  /// True if the mode has descriptors that no member, run or host needs. Blocks and signalled sources need none.
  fileprivate var isIdle: Bool {
    !counts.needDescriptors && useCount == 0 && (ports.set != nil || timers.hasPorts)
  }

  /// Closes the mode's descriptors, the port set before the timerfds that it contains. The next user of the mode makes
  /// new ones, which may fail.
  fileprivate func giveBackDescriptors() {
    ports.destroy()
    timers.destroy()
  }
}

extension RunLoop {
  /// Called under the lock when the mode may have become idle: a member or a run has left it, or could not enter it.
  @inline(__always)
  func mayHaveIdled(_ mode: ModePointer) {
    if mode.useCount == 0, !state.idleModes.isLatest(mode) { noteIdle(mode) }
  }

  @inline(never)
  private func noteIdle(_ mode: ModePointer) { state.idleModes.note(mode, among: state.modes) }
}
