/// The modes of a loop that need no descriptors now and still have some: the last few that were used keep theirs, so
/// that a program that uses one again and again does not pay for them each time. Guarded by the loop's lock.
struct IdleModes {
  /// The latest one's. Of 2^32 uses: a stamp that comes again keeps one mode more, or one less.
  private var lastStamp: UInt32 = 0
  private static let most = 4

  /// It has been noted, and nothing since.
  @inline(__always)
  func isLatest(_ mode: ModePointer) -> Bool { mode.idleStamp != 0 && mode.idleStamp == lastStamp }

  /// It may have become idle. The oldest of more than the few gives its descriptors back. Complexity: O(modes).
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
  /// It has descriptors that it does not need: no member, run or host does. Blocks, observers and signalled sources
  /// need none.
  fileprivate var isIdle: Bool {
    !counts.needDescriptors && useCount == 0 && (ports.set != nil || timers.hasPorts)
  }

  /// What needs them makes them again, which may fail there. The port set goes before the timerfds that it knows.
  fileprivate func giveBackDescriptors() {
    ports.destroy()
    timers.destroy()
  }
}

extension RunLoop {
  /// The mode has no members that need its descriptors.
  @inline(__always)
  func mayHaveIdled(_ mode: ModePointer) {
    if mode.useCount == 0, !state.idleModes.isLatest(mode) { noteIdle(mode) }
  }

  @inline(never)
  private func noteIdle(_ mode: ModePointer) { state.idleModes.note(mode, among: state.modes) }
}
