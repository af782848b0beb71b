extension RunLoop.Clock {
  /// A sequence of dates at a fixed interval on this clock, for tasks. Iterators are independent of each other.
  ///
  /// The first date is one interval after the call. A task that is busy misses dates. Its next element then comes at
  /// once: it is the latest date that has passed, with the number of missed dates [RLK-STREAM-8]. So nothing piles up,
  /// and the phase is kept.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// try loop.run {
  ///   for try await tick in loop.clock.ticks(every: .milliseconds(10)) {
  ///     print(tick.date <= loop.clock.now)  // prints true
  ///     break
  ///   }
  /// }
  /// ```
  /// - Parameters:
  ///   - interval: In whole nanoseconds, rounded up; zero or less counts as one.
  ///   - tolerance: How much later than its date an element may come, to save a wake; at most half the interval. Nil
  ///     means the loop's `defaultTimerTolerance`.
  /// - Returns: A sequence, which retains the loop. `next()` never returns nil, and throws as
  ///   `sleep(until:tolerance:)`.
  /// - Thread: Any. - Complexity: O(log timers) an element.
  public func ticks(
    every interval: Duration, tolerance: Duration? = nil
  ) -> some AsyncSequence<RunLoop.Tick, any Error> & Sendable {
    let interval = Duration(nanoseconds: max(interval, .nanoseconds(1)).nanosecondsRoundedUp)
    let most = min(tolerance ?? sleeps.loop.defaultTimerTolerance, interval / 2)
    return Ticks(clock: self, start: now, interval: interval, tolerance: most)
  }
}

extension RunLoop {
  /// An element of `RunLoop.Clock.ticks(every:tolerance:)`.
  public struct Tick: Hashable, Sendable {
    /// When the element was due.
    public let date: Instant
    /// How many earlier dates the task has missed since the last element.
    public let missed: Int
  }
}

private struct Ticks: AsyncSequence, Sendable {
  let clock: RunLoop.Clock
  let start: RunLoop.Instant
  let interval: Duration
  let tolerance: Duration

  struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let ticks: Ticks
    fileprivate var last: RunLoop.Instant

    mutating func next() async throws -> RunLoop.Tick? { try await next(isolation: #isolation) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> RunLoop.Tick? {
      let due = last.advanced(by: ticks.interval)
      try await ticks.clock.sleep(until: due, tolerance: ticks.tolerance)
      let late = due.duration(to: ticks.clock.now).nanosecondsRoundedUp
      let missed = Int(clamping: late / ticks.interval.nanosecondsRoundedUp)
      last = due.advanced(by: ticks.interval * missed)
      return RunLoop.Tick(date: last, missed: missed)
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(ticks: self, last: start) }
}
