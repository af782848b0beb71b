/// The members of a mode that epoll has refused to take back after they were muted (`ENOSPC`, `ENOMEM`), as if they had failed:
/// a descriptor source is told by an error, and all are tried again, less and less often. Under the loop's lock.
struct Unheard {
  /// Members that have not been told; the mode holds them. One that leaves is forgotten.
  private var untold: [Unmanaged<RunLoop.Item>] = []
  private var pause: UInt64 = 1_000_000
  private static let longestPause: UInt64 = 1_000_000_000
  /// When the loop's own thread tries again; at once while somebody is to be told.
  var retryAt = Time.forever
  /// Somebody has closed a timerfd: the timers' dates limit the wait instead.
  var hasDeafTimers = false

  mutating func append(_ item: RunLoop.Item?) {
    if let item, item.kind == .descriptorSource { untold.append(Unmanaged.passUnretained(item)) }
    retryAt = 0
  }

  mutating func forget(_ item: RunLoop.Item) { untold.removeAll { $0.takeUnretainedValue() === item } }

  mutating func takeUntold() -> RunLoop.Item? { untold.popLast()?.takeUnretainedValue() }

  mutating func hasFailedAgain(now: UInt64) {
    retryAt = Time.add(now, pause)
    pause = min(pause * 2, Self.longestPause)
  }
}
