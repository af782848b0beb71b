internal import Synchronization

extension RunLoop {
  /// How often a source may be called: beyond that it rests until the period ends, and others get their turns.
  ///
  /// A period begins with the first callout after the last one has ended. What comes while the source rests is not lost:
  /// it stays where it is (in the descriptor, in the kernel's queue of signals or file events) and is served afterwards, and
  /// what comes together there counts as it does there. A period is measured on the loop's clock and ended by a timer in the
  /// source's modes, which keeps them from being empty; in a mode that does not run meanwhile it ends when that runs again.
  /// A limit may be given to several sources: each counts for itself. A source in several loops has one count, and
  /// rests in each of them when it is called there.
  /// - Thread: Any, for all members.
  public final class RateLimit: Sendable {
    /// Callouts in a period. Less than one counts as one.
    public let count: Int
    /// How long a period is. Zero or less: each callout begins another one, which limits nothing; 584 years or more: the first
    /// one never ends.
    public let period: Duration
    /// Called when a rest has ended, on the thread of the loop, with no lock held.
    public let whenLeft: (@Sendable (Item) -> Void)?

    /// `count` callouts, at least 1, in each `period`, which limits nothing if it is zero or negative; `whenLeft` is told on the
    /// loop's thread when the source is served again.
    public init(count: Int, per period: Duration, whenLeft: (@Sendable (Item) -> Void)? = nil) {
      if count < 1 { Diagnostics.say("RateLimit: the count \(count) counts as 1") }
      if period <= .zero { Diagnostics.say("RateLimit: the period \(period) limits nothing") }
      self.count = max(count, 1)
      self.period = period
      self.whenLeft = whenLeft
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
    /// The timers that end its rests, by loop.
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

    /// When the rest that is due ends; nil if there may be more callouts.
    func restEnd(now: UInt64) -> UInt64? {
      lock.withLock { used >= limit.count && now < periodEnd ? periodEnd : nil }
    }

    /// What was counted was no callout.
    func takeBack() {
      lock.withLock {
        used = max(used - 1, 0)
        if used == 0 { periodEnd = 0 }
      }
    }

    /// The timer that ends its rest in that loop; nil if it does not rest there.
    func rest(in loop: UInt64) -> Timer? { lock.withLock { rests[loop] } }

    /// The timer that it replaces, if there was a rest already.
    func beginRest(in loop: UInt64, _ timer: Timer) -> Timer? {
      lock.withLock { rests.updateValue(timer, forKey: loop) }
    }

    func endRest(in loop: UInt64) -> Timer? { lock.withLock { rests.removeValue(forKey: loop) } }

    // The source is gone: nobody is told of the end of its rest.
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
