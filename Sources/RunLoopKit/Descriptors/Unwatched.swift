/// The members of a mode that epoll has refused to watch again (`ENOSPC`, `ENOMEM`). Each descriptor source among them
/// receives an error, and the loop tries to register all of them again, less and less often.
struct Unwatched {
  /// Sources that have not received the error yet; the mode retains them. A source that leaves the mode is removed.
  private var unreported: [Unmanaged<RunLoop.Item>] = []
  private var pause: UInt64 = 1_000_000
  private static let longestPause: UInt64 = 1_000_000_000
  /// When the loop's own thread tries again. 0 after a new refusal: the thread then tries again as soon as each source
  /// has received the error.
  var retryAt = Time.forever

  mutating func append(_ item: RunLoop.Item?) {
    if let item, item.kind == .descriptorSource { unreported.append(Unmanaged.passUnretained(item)) }
    retryAt = 0
  }

  mutating func forget(_ item: RunLoop.Item) { unreported.removeAll { $0.takeUnretainedValue() === item } }

  mutating func takeUnreported() -> RunLoop.Item? { unreported.popLast()?.takeUnretainedValue() }

  mutating func hasFailedAgain(now: UInt64) {
    retryAt = Time.add(now, pause)
    pause = min(pause * 2, Self.longestPause)
  }
}

// All of these are called under the lock.

extension ModePointer {
  /// Called when epoll refuses a member. `item` is nil if the caller does not know which one.
  @inline(never)
  func noteUnwatched(_ item: RunLoop.Item?, on loop: RunLoop) {
    var unwatched = ports.unwatched ?? Unwatched()
    unwatched.append(item)
    ports.unwatched = unwatched
    timers.endRest()
    loop.interrupt()  // another thread may call this while the loop sleeps
  }

  func forgetUnwatched(_ item: RunLoop.Item) { if ports.unwatched != nil { ports.unwatched!.forget(item) } }

  /// When a wait must end by itself, for a retry or for timers whose date no timerfd reports. `Time.forever` if epoll
  /// reports everything.
  func waitLimit(on loop: RunLoop) -> UInt64 {
    min(ports.unwatched?.retryAt ?? Time.forever, timers.isAtRest ? Time.forever : timers.carriedDate(loop.kernel))
  }

  /// Arms the mode's timerfd for `waitLimit`, so that it ends the sleep of a host when an error is to be delivered, a
  /// registration is to be tried again, or a timer is due whose clock has no timerfd. Returns false if the timerfd
  /// cannot be armed; then the host must not sleep.
  func hasArmedRetry(on loop: RunLoop) -> Bool {
    let limit = waitLimit(on: loop)
    return limit == Time.forever || timers.want(limit)
  }

  @inline(never)
  func armRetry(on loop: RunLoop) {
    timers.endRest()
    _ = hasArmedRetry(on: loop)  // `prepareToWait`, which needs the result, calls it again
  }

  /// Returns the error event for the next source that has not received it. If there is none, and `retryAt` has come,
  /// registers all members again and returns nil. Only for a mode that has `unwatched`.
  @inline(never)
  func takeUnwatched() -> PassEvent? {
    if let item = ports.unwatched!.takeUnreported() {
      return .port(.passRetained(item), ready: PortRegistration.failed)
    }
    let now = Kernel.now()
    guard ports.unwatched!.retryAt <= now else { return nil }
    if !ports.set!.retry() {
      ports.unwatched!.hasFailedAgain(now: now)
    } else {
      ports.unwatched = nil
    }
    return nil
  }
}
