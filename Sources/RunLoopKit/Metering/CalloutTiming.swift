internal import Synchronization

/// The times of the callouts and runs on the stack. - Thread: The loop's own.
struct CalloutTimes {
  /// For each timed callout or run: when it began, and how long the ones inside it took. The innermost last.
  private var enclosed: ContiguousArray<(began: UInt64, inside: UInt64)> = []
  fileprivate var isReporting = false
  /// The item that was called instead of the one whose turn it was, or a `NamedBlock`.
  fileprivate var substitute: AnyObject?

  fileprivate var isTiming: Bool { !enclosed.isEmpty }
  var count: Int { enclosed.count }

  /// Drops the callouts and runs of a run that was left without a return. Nothing is counted for them.
  mutating func endLeft(behind base: Int) {
    enclosed.removeSubrange(min(base, enclosed.count)...)
    isReporting = false
    substitute = nil
  }

  /// Begins to time a callout or a run, and returns the time, which is never 0.
  fileprivate mutating func begin() -> UInt64 {
    let now = max(Kernel.now(), 1)
    enclosed.append((now, 0))
    return now
  }

  /// Ends the timing that began at `began`. Returns the time taken, without that of the callouts and runs inside.
  fileprivate mutating func end(_ began: UInt64) -> UInt64 {
    let now = Kernel.now()
    let total = now > began ? now - began : 0
    var ended = enclosed.popLast()
    while let left = ended, left.began != began { ended = enclosed.popLast() }  // drops calls inside that were left
    let inside = ended?.inside ?? 0
    if let last = enclosed.indices.last { enclosed[last].inside += total }
    return total > inside ? total - inside : 0
  }
}

/// Times a callout or a run if the loop reports slow callouts. Create it directly before the call.
/// - Thread: The loop's own.
struct CalloutTiming {
  /// When the call began; 0 if it is not timed.
  private let began: UInt64

  /// For a call that no counter counts, or that is counted later.
  init(on loop: RunLoop) {
    guard let counters = loop.counters else {
      began = 0
      return
    }
    began = Self.begin(counters, on: loop)
  }

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

  /// Ends the timing without a report: the call was a run, or called no user code.
  func end(on loop: RunLoop) { if began != 0 { endUnreported(on: loop) } }

  /// Ends the timing of a callout, and reports the callout if it was slow. Call it after `CalloutRecord.end`, with no
  /// lock held.
  /// - Parameter mode: The mode that the report names; nil stands for the mode in which the loop runs.
  func end(_ item: RunLoop.Item?, _ kind: RunLoop.SlowCallout.Kind, in mode: ModePointer? = nil, on loop: RunLoop) {
    if began != 0 { endTimed(item, kind, mode, on: loop) }
  }

  /// Does what the function above does, with the kind of the item.
  func end(_ item: RunLoop.Item, on loop: RunLoop) { if began != 0 { endTimed(item, item.kind.called, nil, on: loop) } }

  @inline(never)
  private func endUnreported(on loop: RunLoop) { _ = loop.owner.times.end(began) }

  @inline(never)
  private func endTimed(
    _ item: RunLoop.Item?, _ kind: RunLoop.SlowCallout.Kind, _ mode: ModePointer?, on loop: RunLoop
  ) {
    let taken = loop.owner.times.end(began)
    let substitute = loop.owner.times.substitute.take()
    let called = substitute as? RunLoop.Item
    guard loop.isInThisProcess, let counters = loop.counters,
      taken > counters.pointee.slowLimit.load(ordering: .relaxed)
    else { return }
    let block = kind == .block ? (substitute as? NamedBlock)?.name : nil
    Self.report(taken, called ?? item, block, called?.kind.called ?? kind, mode, on: loop)
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
  /// Reports a slow callout, unless the reporter is on the stack and has run the loop. - Thread: The loop's own.
  fileprivate static func report(
    _ taken: UInt64, _ item: RunLoop.Item?, _ block: BlockName?, _ kind: RunLoop.SlowCallout.Kind,
    _ mode: ModePointer?, on loop: RunLoop
  ) {
    guard !loop.owner.times.isReporting else { return }
    let (reporter, mode) = loop.lock.withLock {
      (loop.state.extras?.slowCalloutReporter, (mode ?? loop.state.currentMode)?.name)
    }
    guard let reporter else { return explainSlow(taken, item, block, kind, mode ?? .default) }
    loop.owner.times.isReporting = true
    let timing = CalloutTiming(on: loop)  // the reporter's time does not count for the enclosing callout
    let name = item?.nameInReports ?? block?.text ?? (kind == .mainQueue ? "main queue" : "block")
    let slow = RunLoop.SlowCallout(
      kind: kind, name: name, mode: mode ?? .default, duration: Duration(nanoseconds: taken))
    __RUNLOOPKIT_IS_REPORTING_A_SLOW_CALLOUT__(reporter, slow)
    timing.end(on: loop)
    loop.owner.times.isReporting = false
  }
}

// MARK: Blocks

/// Keeps the name of the block that has just been performed until its timing ends.
private final class NamedBlock {
  let name: BlockName

  init(_ name: BlockName) { self.name = name }
}

extension RunLoop {
  /// Notes the name of a block whose closure has just returned; does nothing if the block is not timed.
  /// - Thread: The loop's own.
  func hasPerformed(_ name: BlockName) { if owner.times.isTiming { owner.times.substitute = NamedBlock(name) } }
}

// MARK: For RunLoopEvents and RunLoopPorts, whose own items call other items

extension RunLoop {
  /// Notes that another item was called instead of the one whose turn it was; does nothing if that call is not timed.
  /// - Thread: The loop's own.
  package func hasCalled(_ substitute: Item) { if owner.times.isTiming { owner.times.substitute = substitute } }
}
