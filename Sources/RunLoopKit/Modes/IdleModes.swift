/// The modes of a loop that need no descriptors now and still have some: the last few that were used keep theirs, so
/// that a program that uses one again and again does not pay for them each time. Guarded by the loop's lock.
struct IdleModes {
  /// The latest first, each the next one's `olderIdle`. Some may be in use again.
  private var latest: ModePointer?
  private static let most = 4

  /// It may have become idle. The oldest of more than the few gives its descriptors back.
  mutating func note(_ mode: ModePointer) {
    guard mode.isIdle, !isLatest(mode) else { return }
    remove(mode)
    mode.olderIdle = latest
    latest = mode
    var last = mode
    for _ in 1..<Self.most {
      guard let older = last.olderIdle else { return }
      last = older
    }
    guard let oldest = last.olderIdle else { return }
    last.olderIdle = nil
    if oldest.isIdle { oldest.giveBackDescriptors() }
  }

  /// It has been noted, and nothing since.
  @inline(__always)
  func isLatest(_ mode: ModePointer) -> Bool { latest == mode }

  private mutating func remove(_ mode: ModePointer) {
    var later = latest
    while let other = later {
      if other.olderIdle == mode { other.olderIdle = mode.olderIdle }
      later = other.olderIdle
    }
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
