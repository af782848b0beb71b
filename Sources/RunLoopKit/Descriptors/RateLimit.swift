internal import Synchronization

extension RunLoop {
  /// Limits how often the loop calls a source: at most `count` times in each period.
  ///
  /// A source that has used up its calls is paused until the period ends. What arrives meanwhile is not lost: it stays
  /// in the descriptor, or in the kernel's queue of signals or file events, and is delivered afterwards, coalesced as
  /// it is there. A period begins with the first call after the previous period has ended. The loop's clock measures
  /// it; a timer in the source's modes, which keeps them from being empty, ends it. In a mode that does not run
  /// meanwhile, the pause ends when the mode runs again. Several sources may have the same limit: each counts for
  /// itself. A source in several loops has one count, and is paused in each loop that has called it.
  /// - Thread: Any, for all members.
  public final class RateLimit: Sendable {
    /// Calls in a period, at least 1.
    public let count: Int
    /// The length of a period. Zero or less limits nothing, since each call begins another period; a period of 584
    /// years or more never ends.
    public let period: Duration
    /// Called when a pause ends: on the loop's thread, with no lock held.
    public let onResume: (@Sendable (Item) -> Void)?

    /// Creates a limit.
    /// - Parameters:
    ///   - count: Calls in a period, at least 1; less counts as 1.
    ///   - period: Zero or less limits nothing.
    ///   - onResume: Called on the loop's thread each time a pause ends.
    public init(count: Int, per period: Duration, onResume: (@Sendable (Item) -> Void)? = nil) {
      if count < 1 { Diagnosis.hint("RateLimit: the count \(count) counts as 1") }
      if period <= .zero { Diagnosis.hint("RateLimit: the period \(period) limits nothing") }
      self.count = max(count, 1)
      self.period = period
      self.onResume = onResume
    }
  }

  /// The state of one source's limit.
  final class RateLimiter: @unchecked Sendable {
    let limit: RateLimit
    private let period: UInt64
    private let lock = Lock()
    /// Guarded by `lock`, like all below.
    private var periodEnd: UInt64 = 0
    private var used = 0
    /// The timers that end its pauses, by loop.
    private var rests: [UInt64: Timer] = [:]

    init(_ limit: RateLimit) {
      self.limit = limit
      period = limit.period.nanosecondsRoundedUp
    }

    /// Before a callout: counts it. False if it is one too many.
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

    /// When the pause that is due ends; nil if there may be more callouts.
    func restEnd(now: UInt64) -> UInt64? {
      lock.withLock { used >= limit.count && now < periodEnd ? periodEnd : nil }
    }

    /// Takes a counted callout back: there was none.
    func takeBack() {
      lock.withLock {
        used = max(used - 1, 0)
        if used == 0 { periodEnd = 0 }
      }
    }

    /// The timer that ends its pause in that loop; nil if it is not paused there.
    func rest(in loop: UInt64) -> Timer? { lock.withLock { rests[loop] } }

    /// Returns the timer that it replaces, if the source was paused already.
    func beginRest(in loop: UInt64, _ timer: Timer) -> Timer? {
      lock.withLock { rests.updateValue(timer, forKey: loop) }
    }

    func endRest(in loop: UInt64) -> Timer? { lock.withLock { rests.removeValue(forKey: loop) } }

    // The source is gone: the end of its pause is not reported.
    deinit { for timer in rests.values { timer.invalidate() } }

    /// The source is invalid: no timer keeps a mode from being empty.
    func end() {
      let timers = lock.withLock {
        defer { rests = [:] }
        return Array(rests.values)
      }
      for timer in timers { timer.invalidate() }
    }
  }
}
