internal import Synchronization

/// Decides which run receives a wake (rules 15-18). Any thread posts to the word. The loop's thread takes what was
/// posted at fixed points of a pass, and decides which of the runs on its stack has to look once more for work. A host
/// that is between `prepareToWait` and `runPendingWork` counts as the run that encloses the outermost one.
struct Wakes: ~Copyable {
  /// Wakes and kicks, and the sleep that they end.
  let word: WakeWord
  /// Another thread has moved a date since the last kick was taken, which may have been its own.
  private let hasMovedDate = Atomic<Bool>(false)
  /// Of a host: as `accepting` and `owedWake` of a run. [loop]
  private let isHostAccepting = Atomic<Bool>(false)
  private let owedToHost = Atomic<UInt32>(WakeWord.Posted.none.number)

  /// The wakes that a run on the stack has yet to look for.
  struct OfRun: OptionSet {
    let rawValue: UInt8

    /// Wakes are remembered: from the entry and from the top of each pass until the end of its wait (rule 15).
    static var accepting: Self { Self(rawValue: 1) }
    /// A nested run took a wake that may have been meant for this one: the next wait does not block (rule 17).
    fileprivate static var owedWake: Self { Self(rawValue: 2) }
    /// A wake, or a kick, was posted in a pass that did not wait: kept for the wait that comes next, its own or a
    /// nested run's.
    fileprivate static var heldWake: Self { Self(rawValue: 4) }
    fileprivate static var heldKick: Self { Self(rawValue: 8) }
    /// A stop before it accepted wakes, or the answer it awaits: its own next wait does not block.
    fileprivate static var owedLook: Self { Self(rawValue: 16) }
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
    return drop(owedTo: outer?.parent)
  }

  /// (a): from here to the wait a wake is remembered; what was posted before is dropped, since a pass follows. True if
  /// there was something.
  @inline(__always)
  func accept(for run: Activation, _ stops: borrowing Stops) -> Bool {
    guard !run.wakes.contains(.accepting) else { return false }
    let hasDropped = drop(owedTo: run.parent)
    run.wakes.insert(.accepting)
    // A stop since the decision at (n): its kick may be among what was dropped. One from now on is remembered.
    if stops.isRequested { run.wakes.insert(.owedLook) }
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
    if !kept.isDisjoint(with: [.owedWake, .heldWake]) { return .wake }
    return kept.isDisjoint(with: [.owedLook, .heldKick]) ? .none : .kick
  }

  /// (j): from here on wakes are dropped.
  @inline(__always)
  func endWait(of run: Activation) { run.wakes.remove(.accepting) }

  /// The wait has taken what was posted, and has ended, by an expiry or otherwise.
  @inline(never)
  func settle(_ posted: WakeWord.Posted, of run: Activation, isExpiry: Bool) {
    if posted == .wake { owe(to: run.parent) }
    // The kick of a stop is none: it was an enclosing run's, or ends this one after the pass.
    if takeDateMove(), posted == .kick, isExpiry { run.wakes.insert(.heldKick) }
  }

  /// A nested run has ended, or was left: wakes that it has not used may have been meant for the enclosing run, or for
  /// the host in whose wait it was.
  func endRun(_ run: Activation) {
    drop(owedTo: run.parent)
    passOn(from: run)
  }

  /// A run has what it ends for, or shall look whether it has.
  func oweLook(to run: Activation) { run.wakes.insert(.owedLook) }

  /// Drops what was posted while no run accepted wakes. The enclosing run, for which it may have been meant, looks
  /// again. True if there was something.
  @inline(__always)
  @discardableResult
  private func drop(owedTo enclosing: Activation?) -> Bool {
    let posted = word.take()
    guard posted != .none else { return false }
    forget(posted, owedTo: enclosing)
    return true
  }

  @inline(never)
  private func forget(_ posted: WakeWord.Posted, owedTo enclosing: Activation?) {
    hasMovedDate.store(false, ordering: .relaxed)
    if posted == .wake { owe(to: enclosing) }
  }

  private func passOn(from run: Activation) {
    if !run.wakes.isDisjoint(with: [.owedWake, .heldWake]) { owe(to: run.parent) }
  }

  /// Passes a wake on to the enclosing run, if that was between the top of its pass and its wait; from the outermost
  /// run to a host that is between `prepareToWait` and `runPendingWork`. It goes no further than that run: rule 17
  /// applies from run to run.
  private func owe(to enclosing: Activation?) {
    if let enclosing {
      if enclosing.wakes.contains(.accepting) { enclosing.wakes.insert(.owedWake) }
    } else if isHostAccepting.load(ordering: .relaxed) {
      keepForHost(.wake)
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
  /// What was posted while nothing waited is dropped, since a look at all of it follows; what an earlier
  /// `prepareToWait` has got is kept.
  func beginHostedWait() {
    let posted = word.take()
    // A kick asks for the look that follows here, too.
    if isHostAccepting.exchange(true, ordering: .relaxed), posted == .wake { keepForHost(.wake) }
  }

  /// From now on wakes are not for the host: `runPendingWork` has notified its observers.
  func endHostedWait() { isHostAccepting.store(false, ordering: .relaxed) }

  /// What has come since is the host's.
  func keepForHost() { keepForHost(word.take()) }

  /// The host has to look, whatever has come.
  func keepKickForHost() { keepForHost(.kick) }

  /// For a run that has taken what was posted, and may have fetched events that do not show on the descriptor any more,
  /// while the host is about to sleep: makes the descriptor readable.
  func goOnSleeping() {
    repeat { keepForHost() } while !word.beginWait()
    word.kick()
  }

  /// For one of several waits that has ended, while the host is about to sleep for the others: what its end has taken,
  /// or a preparation that has failed, shows on the descriptor.
  func sleepOnIfNeeded() { if isOwedToHost || !word.isAsleep { goOnSleeping() } }

  var isOwedToHost: Bool { owedToHost.load(ordering: .relaxed) != WakeWord.Posted.none.number }

  /// A pass follows.
  func forgetOwedToHost() { owedToHost.store(WakeWord.Posted.none.number, ordering: .relaxed) }

  private func keepForHost(_ posted: WakeWord.Posted) {
    owedToHost.store(max(owedToHost.load(ordering: .relaxed), posted.number), ordering: .relaxed)
  }
}
