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
  public final class RateLimit: Sendable {
    /// Callouts in a period. Less than one counts as one.
    public let count: Int
    /// How long a period is.
    public let period: Duration
    /// Called when a rest has ended, on the thread of the loop, with no lock held.
    public let whenLeft: (@Sendable (Item) -> Void)?

    /// `count` callouts in each `period`; `whenLeft` is told when the source is served again.
    public init(count: Int, per period: Duration, whenLeft: (@Sendable (Item) -> Void)? = nil) {
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

    /// False if it rests in that loop already.
    func beginRest(in loop: UInt64, _ timer: Timer) -> Bool {
      lock.withLock {
        guard rests[loop] == nil else { return false }
        rests[loop] = timer
        return true
      }
    }

    func endRest(in loop: UInt64) -> Timer? { lock.withLock { rests.removeValue(forKey: loop) } }

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

extension RunLoop {
  /// As `serve`, for a source with a limit.
  @inline(never)
  func serve(
    _ item: Item, ready: UInt32, _ activation: UnsafeMutablePointer<Activation>, _ limiter: RateLimiter
  ) -> Bool {
    // The message of a port source has been taken: it is told in any case.
    guard limiter.begin(now: Kernel.now()) || item.kind == .portSource else {
      rest(item, limiter)
      return false
    }
    let hasHandled = serveUnlimited(item, ready: ready, activation)
    rest(item, limiter)
    return hasHandled
  }

  private func rest(_ item: Item, _ limiter: RateLimiter) {
    guard item.isValid, let end = limiter.restEnd(now: Kernel.now()) else { return }
    let timer = Timer(fireDate: Instant(nanoseconds: end)) { [weak self, weak item] _ in
      if let self, let item { self.endRest(item, limiter) }
    }
    guard limiter.beginRest(in: serial, timer) else { return }
    let names = lock.withLock { setMuted(true, item) }
    let isTimed = names.filter { (try? add(timer, to: $0)) == true }.count == names.count
    // Removed in its callout, or no timer can be made: then it does not rest.
    if names.isEmpty || !isTimed {
      timer.invalidate()
      _ = limiter.endRest(in: serial)
      lock.withLock { _ = setMuted(false, item) }
    }
    if !item.isValid { limiter.end() }
  }

  private func endRest(_ item: Item, _ limiter: RateLimiter) {
    guard limiter.endRest(in: serial) != nil else { return }
    lock.withLock { _ = setMuted(false, item) }
    if item.isValid { limiter.limit.whenLeft?(item) }
  }
}
