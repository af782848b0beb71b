extension RunLoop {
  /// The state of one source's limit.
  final class RateLimiter: @unchecked Sendable {
    let limit: RateLimit
    private let period: UInt64
    private let lock = Lock()
    /// Guarded by `lock`, like the next two.
    private var periodEnd: UInt64 = 0
    private var used = 0
    /// The timers that end the source's pauses, by the loop's serial.
    private var rests: [UInt64: Timer] = [:]

    init(_ limit: RateLimit) {
      self.limit = limit
      period = limit.period.nanosecondsRoundedUp
    }

    /// Counts a callout that is about to be made. Returns false if the limit does not allow it.
    func begin(now: UInt64) -> Bool {
      lock.withLock {
        if now >= periodEnd {
          periodEnd = Time.add(now, period)
          used = 0
        }
        used += 1
        return used <= limit.count
      }
    }

    /// When the period ends, if the source has used up its calls; nil if it has calls left.
    func restEnd(now: UInt64) -> UInt64? {
      lock.withLock { used >= limit.count && now < periodEnd ? periodEnd : nil }
    }

    /// Takes back a counted callout that was not made.
    func takeBack() {
      lock.withLock {
        used = max(used - 1, 0)
        if used == 0 { periodEnd = 0 }
      }
    }

    /// The timer that ends the source's pause in a loop; nil if the source is not paused there.
    func rest(in loop: UInt64) -> Timer? { lock.withLock { rests[loop] } }

    /// Stores the timer of a pause that begins. Returns the timer that it replaces, if the source was paused already.
    func beginRest(in loop: UInt64, _ timer: Timer) -> Timer? {
      lock.withLock { rests.updateValue(timer, forKey: loop) }
    }

    func endRest(in loop: UInt64) -> Timer? { lock.withLock { rests.removeValue(forKey: loop) } }

    // The source was destroyed: `onResume` is not called.
    deinit { for timer in rests.values { timer.invalidate() } }

    /// Called when the source was invalidated. Ends its timers, which would keep their modes from being empty.
    func end() {
      let timers = lock.withLock {
        defer { rests = [:] }
        return Array(rests.values)
      }
      for timer in timers { timer.invalidate() }
    }
  }
}
