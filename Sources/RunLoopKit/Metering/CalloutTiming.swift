internal import Synchronization

/// The time of what is on the stack: callouts and runs. [loop]
struct CalloutTimes {
  /// For each that is timed when it began, and what the ones inside of it have taken; the innermost one's last.
  private var enclosed: ContiguousArray<(began: UInt64, inside: UInt64)> = []
  fileprivate var isReporting = false
  /// Which item was called in the place of the one whose turn it was.
  fileprivate var substitute: RunLoop.Item?

  fileprivate var isTiming: Bool { !enclosed.isEmpty }
  var count: Int { enclosed.count }

  /// Those of a run that was left are over, and count for nobody.
  mutating func endLeft(behind base: Int) {
    enclosed.removeSubrange(min(base, enclosed.count)...)
    isReporting = false
    substitute = nil
  }

  /// When it has begun, which is never 0.
  fileprivate mutating func begin() -> UInt64 {
    let now = max(Kernel.now(), 1)
    enclosed.append((now, 0))
    return now
  }

  /// What has begun then is over: how long it has taken without what was inside of it.
  fileprivate mutating func end(_ began: UInt64) -> UInt64 {
    let now = Kernel.now()
    let total = now > began ? now - began : 0
    var ended = enclosed.popLast()
    while let left = ended, left.began != began { ended = enclosed.popLast() }  // inside of it, and left
    let inside = ended?.inside ?? 0
    if let last = enclosed.indices.last { enclosed[last].inside += total }
    return total > inside ? total - inside : 0
  }
}

/// Times a callout or a run, if the loop reports slow ones. Created directly before it. [loop]
struct CalloutTiming {
  /// When it began; 0: it is not timed.
  private let began: UInt64

  /// Of what is not counted, or later.
  @inline(__always)
  init(on loop: RunLoop) {
    guard let counters = loop.counters else {
      began = 0
      return
    }
    began = Self.begin(counters, on: loop)
  }

  @inline(__always)
  init(counting counter: Counters.Counter, on loop: RunLoop) {
    guard let counters = loop.counters else {
      began = 0
      return
    }
    counters.pointee.add(1, to: counter)
    began = Self.begin(counters, on: loop)
  }

  @inline(never)
  private static func begin(_ counters: UnsafeMutablePointer<Counters>, on loop: RunLoop) -> UInt64 {
    counters.pointee.slowLimit.load(ordering: .relaxed) == Time.forever ? 0 : loop.owner.times.begin()
  }

  /// Ends the timing without a report: it was a run, or no user code was called.
  @inline(__always)
  func end(on loop: RunLoop) { if began != 0 { endUntold(on: loop) } }

  /// The callout is over, and so is its record. With no lock held. No mode: the one in which the loop runs.
  @inline(__always)
  func end(_ item: RunLoop.Item?, _ kind: RunLoop.SlowCallout.Kind, in mode: ModePointer? = nil, on loop: RunLoop) {
    if began != 0 { endTimed(item, kind, mode, on: loop) }
  }

  /// The kind is the item's.
  @inline(__always)
  func end(_ item: RunLoop.Item, on loop: RunLoop) { if began != 0 { endTimed(item, item.kind.called, nil, on: loop) } }

  @inline(never)
  private func endUntold(on loop: RunLoop) { _ = loop.owner.times.end(began) }

  @inline(never)
  private func endTimed(
    _ item: RunLoop.Item?, _ kind: RunLoop.SlowCallout.Kind, _ mode: ModePointer?, on loop: RunLoop
  ) {
    let taken = loop.owner.times.end(began)
    let substitute = loop.owner.times.substitute.take()
    guard loop.isInThisProcess, let counters = loop.counters,
      taken > counters.pointee.slowLimit.load(ordering: .relaxed)
    else { return }
    Self.report(taken, substitute ?? item, substitute?.kind.called ?? kind, mode, on: loop)
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

extension CalloutTiming {
  /// A callout of the loop has taken so much. [loop]
  fileprivate static func report(
    _ taken: UInt64, _ item: RunLoop.Item?, _ kind: RunLoop.SlowCallout.Kind, _ mode: ModePointer?, on loop: RunLoop
  ) {
    guard !loop.owner.times.isReporting else { return }
    let (reporter, mode) = loop.lock.withLock {
      (loop.state.extras?.slowCalloutReporter, (mode ?? loop.state.currentMode)?.name)
    }
    guard let reporter else { return }
    loop.owner.times.isReporting = true
    let timing = CalloutTiming(on: loop)  // of whose time it is no part
    let name = item.map { $0.label ?? $0.description } ?? (kind == .mainQueue ? "main queue" : "block")
    let slow = RunLoop.SlowCallout(
      kind: kind, name: name, mode: mode ?? .default, duration: Duration(nanoseconds: taken))
    __RUNLOOPKIT_IS_REPORTING_A_SLOW_CALLOUT__(reporter, slow)
    timing.end(on: loop)
    loop.owner.times.isReporting = false
  }
}

// MARK: For RunLoopEvents and RunLoopPorts, which make callouts inside of those of their own items

extension RunLoop {
  /// Another item than the one whose turn it was has been called; nothing if that is not timed. [loop]
  package func hasCalled(_ substitute: Item) { if owner.times.isTiming { owner.times.substitute = substitute } }
}
