/// The members of a mode that epoll has refused to take back after they were muted (`ENOSPC`, `ENOMEM`), as if they had failed:
/// a descriptor source is told by an error, and all are tried again, less and less often. Under the loop's lock.
struct Unheard {
  /// Members that have not been told; the mode holds them. One that leaves is forgotten.
  private var untold: [Unmanaged<RunLoop.Item>] = []
  private var pause: UInt64 = 1_000_000
  private static let longestPause: UInt64 = 1_000_000_000
  /// When the loop's own thread tries again; at once while somebody is to be told.
  fileprivate var retryAt = Time.forever
  /// Somebody has closed a timerfd: the timers' dates limit the wait instead.
  fileprivate var hasDeafTimers = false

  fileprivate mutating func append(_ item: RunLoop.Item?) {
    if let item, item.kind == .descriptorSource { untold.append(Unmanaged.passUnretained(item)) }
    retryAt = 0
  }

  mutating func forget(_ item: RunLoop.Item) { untold.removeAll { $0.takeUnretainedValue() === item } }

  fileprivate mutating func takeUntold() -> RunLoop.Item? { untold.popLast()?.takeUnretainedValue() }

  fileprivate mutating func hasFailedAgain(now: UInt64) {
    retryAt = Time.add(now, pause)
    pause = min(pause * 2, Self.longestPause)
  }
}

extension RunLoop {
  /// Out of the wait, or back. Under the lock.
  @inline(__always)
  func setMuted(_ isMuted: Bool, _ item: Item, _ token: UInt64, in mode: ModePointer) {
    guard let set = mode.pointee.portSet else { return }
    if !set.setMuted(isMuted, token: token) { noteUnheard(item, in: mode) }
  }

  /// `item`: whom it has happened to; nil: somebody. Under the lock.
  @inline(never)
  func noteUnheard(_ item: Item?, in mode: ModePointer) {
    var unheard = mode.pointee.unheard ?? Unheard()
    unheard.append(item)
    mode.pointee.unheard = unheard
    wakeWord.kick()  // another thread may have done it, and the loop sleep
  }

  /// A mode's timerfd could not be armed. Under the lock.
  @inline(never)
  func noteDeafTimers(in mode: ModePointer) {
    var unheard = mode.pointee.unheard ?? Unheard()
    guard !unheard.hasDeafTimers else { return }
    unheard.hasDeafTimers = true
    mode.pointee.unheard = unheard
    wakeWord.kick()
  }

  /// Until when a wait may last. Under the lock.
  @inline(never)
  func unheardLimit(of mode: ModePointer) -> UInt64 {
    let unheard = mode.pointee.unheard!
    guard unheard.hasDeafTimers else { return unheard.retryAt }
    let own = mode.pointee.timerHeap?.wakeAt ?? Time.forever
    return min(unheard.retryAt, own, otherClocksWake(of: mode))
  }

  /// Tells the next one, or tries again if it is time to. Under the lock.
  @inline(never)
  func takeUnheard(in mode: ModePointer) -> PassEvent? {
    if let item = mode.pointee.unheard!.takeUntold() {
      return .port(item, ready: FileDescriptorSource.Readiness.error.rawValue)
    }
    let now = Kernel.now()
    guard mode.pointee.unheard!.retryAt <= now else { return nil }
    if !mode.pointee.portSet!.retry() {
      mode.pointee.unheard!.hasFailedAgain(now: now)
    } else if mode.pointee.unheard!.hasDeafTimers {
      mode.pointee.unheard!.retryAt = Time.forever
    } else {
      mode.pointee.unheard = nil
    }
    return nil
  }
}
