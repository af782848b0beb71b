internal import Synchronization

extension RunLoop {
  /// Makes the loop report callouts that take longer than a limit, from its next callout on. A second call replaces the
  /// limit and the reporter; a callout that runs meanwhile may be reported to either.
  ///
  /// The loop reports callouts of items, blocks and the main dispatch queue, each once, after it has returned; a
  /// callout that never returns is not reported. Only the callout's own time counts: a run that it begins does not, and
  /// the callouts of that run are reported by themselves. A one-shot timer is invalid when it is reported.
  /// - Parameters:
  ///   - limit: On the suspending clock. Zero or less: every callout that the clock has seen.
  ///   - reporter: Called on the loop's thread, without a lock, before the next callout. Callouts of a run that the
  ///     reporter begins are not reported.
  /// - Thread: Any. A loop that has ended, or was inherited through fork(2): nothing.
  /// - Complexity: A callout costs two readings of the clock, and so does a run. A loop that does not report pays a load and a
  ///   comparison.
  /// - SeeAlso: `stopReportingSlowCallouts()`, `statistics`.
  public func reportSlowCallouts(
    longerThan limit: Duration, to reporter: @escaping @Sendable (SlowCallout) -> Void
  ) {
    setReporter(reporter, limit: limit.nanosecondsRoundedUp)
  }

  /// Stops the reports; a call of the reporter may still run. Thread: any.
  public func stopReportingSlowCallouts() { setReporter(nil, limit: Time.forever) }

  private func setReporter(_ reporter: (@Sendable (SlowCallout) -> Void)?, limit: UInt64) {
    guard isUsable else { return }
    let previous = lock.withLock {
      guard !hasEnded, reporter != nil || state.extras?.slowCalloutReporter != nil else { return reporter }
      let extras = state.makeExtras()
      let counters = extras.makeCounters()
      counters.pointee.slowLimit.store(limit, ordering: .relaxed)
      activeCounters.store(UInt(bitPattern: counters), ordering: .releasing)
      defer { extras.slowCalloutReporter = reporter }
      return extras.slowCalloutReporter
    }
    withExtendedLifetime(previous) {}  // its release may be user code: not under the lock
  }
}

/// The time of what is on the stack: callouts and runs. [loop]
struct CalloutTimes {
  /// For each that is timed, what the ones inside of it have taken; the innermost one's last.
  fileprivate var enclosed: ContiguousArray<UInt64> = []
  fileprivate var isReporting = false
  /// Which item was called in the place of the one whose turn it was.
  fileprivate var substitute: RunLoop.Item?
}

extension RunLoop {
  /// Of a callout or a run, directly before it. When it began; 0: it is not timed. [loop]
  @inline(__always)
  func countAndTime(_ counter: Counters.Counter) -> UInt64 {
    guard let counters else { return 0 }
    counters.pointee.add(1, to: counter)
    return beginTiming(counters)
  }

  /// The same for what is not counted, or later.
  @inline(__always)
  func beginTiming() -> UInt64 {
    guard let counters else { return 0 }
    return beginTiming(counters)
  }

  @inline(never)
  private func beginTiming(_ counters: UnsafeMutablePointer<Counters>) -> UInt64 {
    guard counters.pointee.slowLimit.load(ordering: .relaxed) != Time.forever else { return 0 }
    owner.times.enclosed.append(0)
    return max(Kernel.now(), 1)
  }

  /// What has begun then is over: how long it has taken without what was inside of it.
  @inline(never)
  @discardableResult
  func endTiming(_ began: UInt64) -> UInt64 {
    let now = Kernel.now()
    let total = now > began ? now - began : 0
    let enclosed = owner.times.enclosed.popLast() ?? 0
    if let last = owner.times.enclosed.indices.last { owner.times.enclosed[last] += total }
    return total > enclosed ? total - enclosed : 0
  }

  /// A callout that was timed has ended, and so has its record. With no lock held. No mode: the one in which the loop runs.
  @inline(never)
  func calloutHasTaken(since began: UInt64, _ item: Item?, _ kind: SlowCallout.Kind, in mode: ModePointer? = nil) {
    let taken = endTiming(began)
    let substitute = owner.times.substitute.take()
    guard isInThisProcess, let counters, taken > counters.pointee.slowLimit.load(ordering: .relaxed) else { return }
    report(taken, substitute ?? item, substitute?.kind.called ?? kind, mode)
  }

  /// The kind is the item's.
  func calloutHasTaken(since began: UInt64, _ item: Item) { calloutHasTaken(since: began, item, item.kind.called) }

  /// Another item than the one whose turn it was has been called; nothing if that is not timed.
  package func hasCalled(_ substitute: Item) {
    if !owner.times.enclosed.isEmpty { owner.times.substitute = substitute }
  }

  private func report(_ taken: UInt64, _ item: Item?, _ kind: SlowCallout.Kind, _ mode: ModePointer?) {
    guard !owner.times.isReporting else { return }
    let (reporter, mode) = lock.withLock {
      (state.extras?.slowCalloutReporter, (mode ?? state.currentMode)?.name)
    }
    guard let reporter else { return }
    owner.times.isReporting = true
    let began = beginTiming()  // of whose time it is no part
    let name = item.map { $0.label ?? $0.description } ?? (kind == .mainQueue ? "main queue" : "block")
    let slow = SlowCallout(kind: kind, name: name, mode: mode ?? .default, duration: Duration(nanoseconds: taken))
    __RUNLOOPKIT_IS_REPORTING_A_SLOW_CALLOUT__(reporter, slow)
    if began != 0 { endTiming(began) }
    owner.times.isReporting = false
  }
}

extension RunLoop.Item.Kind {
  fileprivate var called: RunLoop.SlowCallout.Kind {
    switch self {
    case .source: .source
    case .port, .connection: .port
    case .portSource: .portSource
    case .descriptorSource: .descriptorSource
    case .eventSource: .eventSource
    case .timer: .timer
    case .observer: .observer
    }
  }
}
