internal import Synchronization

/// Decides which run receives a wake (rules 15-18). Any thread posts to the word. The loop's thread takes what was
/// posted at fixed points of a pass, and decides which of the runs on its stack has to look once more for work. A host
/// that is between `prepareToWait` and `runPendingWork` counts as the run that encloses the outermost one.
struct Wakes: ~Copyable {
  /// Wakes and kicks, and the sleep that they end.
  let word: WakeWord
  /// Another thread has moved a date since the last kick was taken, which may have been its own.
  private let hasMovedDate = Atomic<Bool>(false)
  /// Of the innermost wait of a host. [loop]
  private let ofHost = Atomic<UInt32>(0)

  /// The wakes that a run on the stack has yet to look for.
  struct OfRun: OptionSet {
    let rawValue: UInt8

    /// Wakes are remembered: from the entry and from the top of each pass until the end of its wait (rule 15).
    static var accepting: Self { Self(rawValue: 1) }
    /// A nested run took a wake that may have been meant for this one: the next wait does not block (rule 17).
    fileprivate static var pendingWake: Self { Self(rawValue: 2) }
    /// A wake, or a kick, was posted in a pass that did not wait: kept for the wait that comes next, its own or a
    /// nested run's.
    fileprivate static var heldWake: Self { Self(rawValue: 4) }
    fileprivate static var heldKick: Self { Self(rawValue: 8) }
    /// A stop before it accepted wakes, or the answer it awaits: its own next wait does not block.
    fileprivate static var pendingPoll: Self { Self(rawValue: 16) }
  }

  /// The wakes that a host's wait has yet to look for: as `accepting` and `pendingWake` of a run.
  struct OfHost {
    /// What it is owed; whether the wait is open; whether there is a run around it, and which, by its place on the
    /// stack, of which these bits are enough. So it takes no more room in each loop.
    fileprivate let rawValue: UInt32

    private static let openBit: UInt32 = 4

    fileprivate init(rawValue: UInt32) { self.rawValue = rawValue }

    fileprivate init(inside run: Activation?) { rawValue = Self.place(of: run) | Self.openBit }

    private static func place(of run: Activation?) -> UInt32 {
      run.map { UInt32(truncatingIfNeeded: $0.state.at >> 3) << 4 | 8 } ?? 0
    }

    /// Of an open one: begun in a callout of the run; nil: outside of all runs.
    fileprivate func isInside(_ run: Activation?) -> Bool {
      rawValue & Self.openBit != 0 && rawValue & ~7 == Self.place(of: run)
    }

    fileprivate var pending: WakeWord.Posted { WakeWord.Posted(number: rawValue & 3) }

    fileprivate func adding(_ posted: WakeWord.Posted) -> OfHost {
      OfHost(rawValue: rawValue & ~3 | max(pending, posted).number)
    }
  }

  init(_ kernel: Kernel?) { word = WakeWord(kernel) }

  /// A date that another thread has moved into the past is an expiry and, after it, a kick, which asks for a pass of
  /// its own (rule 18). Any thread.
  func dateHasMoved() {
    hasMovedDate.store(true, ordering: .relaxed)
    word.kick()
  }
}

// MARK: What a run does with them. On the loop's own thread

extension Wakes {
  /// A run begins inside of another one, if that is not nil: what was posted while none accepted is dropped. True if
  /// there was something.
  @inline(__always)
  func beginRun(inside outer: Activation?) -> Bool {
    if let outer, outer.wakes.contains(.accepting) { return false }
    return drop(passingTo: outer?.parent)
  }

  /// (a): from here to the wait a wake is remembered; what was posted before is dropped, since a pass follows. True if
  /// there was something.
  @inline(__always)
  func accept(for run: Activation, _ stops: borrowing Stops) -> Bool {
    guard !run.wakes.contains(.accepting) else { return false }
    let hasDropped = drop(passingTo: run.parent)
    run.wakes.insert(.accepting)
    // A stop since the decision at (n): its kick may be among what was dropped. One from now on is remembered.
    if stops.isRequested { run.wakes.insert(.pendingPoll) }
    return hasDropped
  }

  /// (g): a pass that goes to the main queue directly has no wait that could take a wake: it is the next one's, also of
  /// a run that is nested in the queue's function (rule 17).
  func keep(for run: Activation) {
    let posted = word.take()
    if posted != .none { run.wakes.insert(posted == .wake ? .heldWake : .heldKick) }
    run.wakes.remove(.accepting)
  }

  /// (i): what was posted before the wait, and no wait has taken yet. A wake is the loop's: of what the enclosing runs
  /// keep nothing is theirs when this one waits first (rule 17).
  @inline(__always)
  func takeKept(for run: Activation) -> WakeWord.Posted {
    if run.parent == nil, run.wakes == .accepting { return .none }
    return takeWhatIsKept(for: run)
  }

  @inline(never)
  private func takeWhatIsKept(for run: Activation) -> WakeWord.Posted {
    var kept = run.wakes
    run.wakes.formIntersection(.accepting)
    var holder = run.parent
    while let outer = holder {
      kept.formUnion(outer.wakes.intersection([.heldWake, .heldKick]))
      outer.wakes.subtract([.heldWake, .heldKick])
      holder = outer.parent
    }
    if !kept.isDisjoint(with: [.pendingWake, .heldWake]) { return .wake }
    return kept.isDisjoint(with: [.pendingPoll, .heldKick]) ? .none : .kick
  }

  /// In the middle of the run's wait: what was kept for it since shows on the descriptor.
  func postAgain(for run: Activation) {
    let kept = takeKept(for: run)
    if kept == .wake { word.signal() } else if kept == .kick { word.kick() }
  }

  /// (j): from here on wakes are dropped.
  @inline(__always)
  func endWait(of run: Activation) { run.wakes.remove(.accepting) }

  /// The wait has taken what was posted, and has ended, by an expiry or otherwise.
  @inline(never)
  func settle(_ posted: WakeWord.Posted, of run: Activation, isExpiry: Bool) {
    if posted == .wake { markPending(for: run.parent) }
    // The kick of a stop is none: it was an enclosing run's, or ends this one after the pass.
    if takeDateMove(), posted == .kick, isExpiry { run.wakes.insert(.heldKick) }
  }

  /// A nested run has ended, or was left: wakes that it has not used may have been meant for the enclosing run, or for
  /// the host in whose wait it was.
  func endRun(_ run: Activation) {
    drop(passingTo: run.parent)
    passOn(from: run)
  }

  /// A run has what it ends for, or shall look whether it has.
  func demandPoll(of run: Activation) { run.wakes.insert(.pendingPoll) }

  /// Drops what was posted while no run accepted wakes. The enclosing run, for which it may have been meant, looks
  /// again. True if there was something.
  @inline(__always)
  @discardableResult
  private func drop(passingTo enclosing: Activation?) -> Bool {
    let posted = word.take()
    guard posted != .none else { return false }
    forget(posted, passingTo: enclosing)
    return true
  }

  @inline(never)
  private func forget(_ posted: WakeWord.Posted, passingTo enclosing: Activation?) {
    hasMovedDate.store(false, ordering: .relaxed)
    if posted == .wake { markPending(for: enclosing) }
  }

  private func passOn(from run: Activation) {
    if !run.wakes.isDisjoint(with: [.pendingWake, .heldWake]) { markPending(for: run.parent) }
  }

  /// Passes a wake on to the enclosing run, if that was between the top of its pass and its wait; or to a host that is
  /// between `prepareToWait` and `runPendingWork` in one of its callouts, or outside of all runs. It goes no further
  /// than that: rule 17 applies from run to run.
  private func markPending(for enclosing: Activation?) {
    if host.isInside(enclosing) {
      keepForHost(.wake)
    } else if let enclosing, enclosing.wakes.contains(.accepting) {
      enclosing.wakes.insert(.pendingWake)
    }
  }

  @inline(__always)
  private func takeDateMove() -> Bool {
    guard hasMovedDate.load(ordering: .relaxed) else { return false }
    hasMovedDate.store(false, ordering: .relaxed)
    return true
  }
}

// MARK: What a host does with them (rule 19). On the loop's own thread

extension Wakes {
  private var host: OfHost { OfHost(rawValue: ofHost.load(ordering: .relaxed)) }

  private func keepForHost(_ posted: WakeWord.Posted) { ofHost.store(host.adding(posted).rawValue, ordering: .relaxed) }

  /// A host begins to wait in a callout of a run, or outside of all: what is to be put back when the wait ends. What
  /// was posted while nothing waited is dropped, since a look at all of it follows; a wake that the run was to get is
  /// first the host's (rule 17).
  func beginHostedWait(inside run: Activation?) -> OfHost {
    let outer = host
    let posted = word.take()
    ofHost.store(OfHost(inside: run).rawValue, ordering: .relaxed)
    guard let run, posted == .wake else { return outer }
    if run.wakes.contains(.accepting) { keepForHost(.wake) } else { markPending(for: run.parent) }
    return outer
  }

  /// The same wait, prepared once more: what an earlier `prepareToWait` has got is kept. A kick asks for the look that
  /// follows here, too.
  func continueHostedWait() { if word.take() == .wake { keepForHost(.wake) } }

  /// From now on wakes are not for the host: `runPendingWork` has notified its observers. True if it was owed a look; a
  /// wake is the run's, too, around the wait.
  func endHostedWait(_ outer: OfHost, inside run: Activation?) -> Bool {
    let pending = host.pending
    ofHost.store(outer.rawValue, ordering: .relaxed)
    if let run, pending == .wake { markPending(for: run) }
    return pending != .none
  }

  /// The wait was left, and so is the run around it: a wake of either is for who goes on, and a look too many does no
  /// harm.
  func endLeftHostedWait(_ outer: OfHost, inside run: Activation) {
    if host.pending == .wake { run.wakes.insert(.pendingWake) }
    ofHost.store(outer.rawValue, ordering: .relaxed)
  }

  /// What has come since is the host's.
  func keepForHost() { keepForHost(word.take()) }

  /// For a run that has taken what was posted, and may have fetched events that do not show on the descriptor any more,
  /// while the host is about to sleep: makes the descriptor readable.
  func goOnSleeping() {
    repeat { keepForHost() } while !word.beginWait()
    word.kick()
  }

  var hasPendingForHost: Bool { host.pending != .none }
}
