internal import RunLoopLibc

/// Counts failed waits of a loop that follow each other closely. - Thread: The loop's own.
struct FailedWaits {
  private var lastAt: UInt64 = 0
  private var count: Int32 = 0
  /// The errno of a wait that has failed for good, until `takeError` takes it; else 0.
  private(set) var failure: Int32 = 0

  private static let most: Int32 = 100
  /// Failures that lie further apart than this, in nanoseconds, do not add up.
  private static let farApart: UInt64 = 10_000_000

  /// False if the loop has to repeat the wait, because a signal has ended it, memory was short, or the set has a new
  /// descriptor in place of one that other code has closed. True if the wait will always fail, or has failed more than
  /// `most` times in close succession.
  mutating func isForGood(_ status: Int32, isMended: Bool) -> Bool {
    if status == -EINTR { return false }
    let now = Kernel.now()
    if now > Time.add(lastAt, Self.farApart) { count = 0 }
    lastAt = now
    count += 1
    let isLasting = !isMended && [-EBADF, -EINVAL, -EFAULT, -EPERM].contains(status)
    guard isLasting || count > Self.most else { return false }
    count = 0
    failure = -status
    return true
  }

  /// The error of the wait that has ended a run.
  @inline(never)
  mutating func takeError() -> RunLoopError {
    defer { failure = 0 }
    return .wait(failure)
  }
}
