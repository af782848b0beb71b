internal import Synchronization

/// Decides which run receives a wake (rules 15-18).
///
/// Any thread posts a wake or an interrupt to the word, and each post ends a sleep. An interrupt makes the run
/// that takes it do a pass. A wake may have been meant for an enclosing run, which then has to poll once more. The
/// loop's thread takes the posts at fixed points of a pass. A host that is between `prepareToWait` and `runPendingWork`
/// counts as an enclosing run.
struct Wakes: ~Copyable {
  /// Where threads post, and where the loop sleeps.
  let word: WakeWord
  /// True if another thread has moved a timer's date since the loop last dropped a post, or ended a wait that took one.
  /// The next interrupt may be that thread's.
  private let hasMovedDate = Atomic<Bool>(false)
  /// The `OfHost` of the innermost wait of a host. - Thread: The loop's own.
  private let ofHost = Atomic<UInt32>(0)

  /// The state of one run's wakes.
  struct OfRun: OptionSet {
    let rawValue: UInt8

    /// The run keeps wakes: from its entry, and from the top of each pass, until the end of its wait (rule 15).
    static var accepting: Self { Self(rawValue: 1) }
    /// A nested run has taken a wake that may have been meant for this run, whose next wait does not block (rule 17).
    fileprivate static var pendingWake: Self { Self(rawValue: 2) }
    /// A wake was posted in a pass that did not wait. The next wait takes it, be it this run's or a nested run's.
    fileprivate static var heldWake: Self { Self(rawValue: 4) }
    /// An interrupt was posted in such a pass, or for a date that was moved (`settle`). The next wait takes it too.
    fileprivate static var heldInterrupt: Self { Self(rawValue: 8) }
    /// The run's own next wait does not block: a stop came before the run accepted wakes, its awaited end may have
    /// come, or a job may wait.
    fileprivate static var pendingPoll: Self { Self(rawValue: 16) }
  }

  /// The host's counterpart of a run's `accepting` and `pendingWake`.
  struct OfHost {
    /// Bits 0 and 1 hold the pending post. Bit 2 says that the wait is open, and bit 3 that it began in a callout of a
    /// run. Bits 4 to 31 are a part of that run's stack address, which is enough to tell runs apart. One word holds all
    /// this, because every loop pays for it.
    fileprivate let rawValue: UInt32

    private static let openBit: UInt32 = 4

    fileprivate init(rawValue: UInt32) { self.rawValue = rawValue }

    fileprivate init(inside run: Activation?) { rawValue = Self.place(of: run) | Self.openBit }

    private static func place(of run: Activation?) -> UInt32 {
      run.map { UInt32(truncatingIfNeeded: $0.state.at >> 3) << 4 | 8 } ?? 0
    }

    /// True if the wait is open and began in a callout of `run`, or outside of all runs if `run` is nil.
    fileprivate func isInside(_ run: Activation?) -> Bool {
      rawValue & Self.openBit != 0 && rawValue & ~7 == Self.place(of: run)
    }

    fileprivate var pending: WakeWord.Posted { WakeWord.Posted(number: rawValue & 3) }

    fileprivate func adding(_ posted: WakeWord.Posted) -> OfHost {
      OfHost(rawValue: rawValue & ~3 | max(pending, posted).number)
    }
  }

  init(_ kernel: Kernel?) { word = WakeWord(kernel) }

  /// Called when another thread has moved a timer's date. A date that has moved into the past causes an expiry and,
  /// after it, a pass for the interrupt (rule 18). - Thread: Any.
  func dateHasMoved() {
    hasMovedDate.store(true, ordering: .relaxed)
    word.interrupt()
  }
}

// MARK: The wakes of runs. On the loop's own thread

extension Wakes {
  /// Called when a run begins; `outer` is the enclosing run. Drops a post that came while no run accepted wakes. True
  /// if there was one.
  func beginRun(inside outer: Activation?) -> Bool {
    if let outer, outer.wakes.contains(.accepting) { return false }
    return drop(passingTo: outer?.parent)
  }

  /// (a): accepts wakes from here to the end of the wait. Drops a post that came before, because a pass follows. True
  /// if there was one.
  func accept(for run: Activation, _ stops: borrowing Stops) -> Bool {
    guard !run.wakes.contains(.accepting) else { return false }
    let hasDropped = drop(passingTo: run.parent)
    run.wakes.insert(.accepting)
    // If a stop came after the decision at (n), this function may have dropped its interrupt just now. The interrupt of
    // a later stop is kept.
    if stops.isRequested { run.wakes.insert(.pendingPoll) }
    return hasDropped
  }

  /// (g): a pass that serves the main queue at once has no wait that could take a post. So the next wait takes it, even
  /// if that is the wait of a run nested in the queue's function (rule 17).
  func keep(for run: Activation) {
    let posted = word.take()
    if posted != .none { run.wakes.insert(posted == .wake ? .heldWake : .heldInterrupt) }
    run.wakes.remove(.accepting)
  }

  /// (i): takes the posts that were kept before the wait. A wake is for the whole loop: the run that waits first takes
  /// those of the enclosing runs, too (rule 17).
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
      kept.formUnion(outer.wakes.intersection([.heldWake, .heldInterrupt]))
      outer.wakes.subtract([.heldWake, .heldInterrupt])
      holder = outer.parent
    }
    if !kept.isDisjoint(with: [.pendingWake, .heldWake]) { return .wake }
    return kept.isDisjoint(with: [.pendingPoll, .heldInterrupt]) ? .none : .interrupt
  }

  /// Called after a sleep in the host, while the run still waits: posts again the wake or interrupt that was kept for
  /// the run meanwhile, so that the poll that follows finds it.
  func postAgain(for run: Activation) {
    let kept = takeKept(for: run)
    if kept == .wake { word.signal() } else if kept == .interrupt { word.interrupt() }
  }

  /// (j): from here on the run drops wakes.
  func endWait(of run: Activation) { run.wakes.remove(.accepting) }

  /// Called when the wait has ended, with the post that it has taken.
  /// - Parameter isExpiry: The wait has found due timers.
  @inline(never)
  func settle(_ posted: WakeWord.Posted, of run: Activation, isExpiry: Bool) {
    if posted == .wake { markPending(for: run.parent) }
    // Only the interrupt for a moved date is kept. A stop needs no interrupt any more: it ends this run after the pass,
    // or it ends an enclosing run.
    if takeDateMove(), posted == .interrupt, isExpiry { run.wakes.insert(.heldInterrupt) }
  }

  /// Called when a run has ended or was left. Passes a wake that the run has not used on to the enclosing run, or to
  /// the host in whose wait the run was, because the wake may have been meant for them.
  func endRun(_ run: Activation) {
    drop(passingTo: run.parent)
    passOn(from: run)
  }

  /// Makes the run's next wait poll, because its awaited end may have come, or a job may wait.
  func demandPoll(of run: Activation) { run.wakes.insert(.pendingPoll) }

  /// Drops a post that came while no run accepted wakes. True if there was one. If the post was a wake, the enclosing
  /// run has to poll, because the wake may have been meant for it.
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

  /// Passes a wake on to the host, if its open wait began in a callout of the enclosing run, or if there is no such run
  /// and the wait began outside of all runs. Otherwise passes the wake on to the enclosing run, if that accepts wakes.
  /// That run passes the wake on in its turn (rule 17).
  private func markPending(for enclosing: Activation?) {
    if host.isInside(enclosing) {
      keepForHost(.wake)
    } else if let enclosing, enclosing.wakes.contains(.accepting) {
      enclosing.wakes.insert(.pendingWake)
    }
  }

  private func takeDateMove() -> Bool {
    guard hasMovedDate.load(ordering: .relaxed) else { return false }
    hasMovedDate.store(false, ordering: .relaxed)
    return true
  }
}

// MARK: The wakes of hosts (rule 17). On the loop's own thread

extension Wakes {
  private var host: OfHost { OfHost(rawValue: ofHost.load(ordering: .relaxed)) }

  private func keepForHost(_ posted: WakeWord.Posted) { ofHost.store(host.adding(posted).rawValue, ordering: .relaxed) }

  /// Called when a host begins to wait, in a callout of `run`, or outside of all runs if `run` is nil. Drops a post
  /// that came while nothing waited, because the host polls everything next. If `run` would have kept the post and it
  /// is a wake, the host gets it first (rule 17). Returns what `endHostedWait` restores.
  func beginHostedWait(inside run: Activation?) -> OfHost {
    let outer = host
    let posted = word.take()
    ofHost.store(OfHost(inside: run).rawValue, ordering: .relaxed)
    guard let run, posted == .wake else { return outer }
    if run.wakes.contains(.accepting) { keepForHost(.wake) } else { markPending(for: run.parent) }
    return outer
  }

  /// Called when the same wait is prepared again. Keeps a wake that came after the last `prepareToWait`, but no
  /// interrupt, because the host polls next.
  func continueHostedWait() { if word.take() == .wake { keepForHost(.wake) } }

  /// Called when `runPendingWork` has notified the observers: later wakes are not for the host. True if the host had
  /// something pending. A pending wake also goes to the run around the wait.
  func endHostedWait(_ outer: OfHost, inside run: Activation?) -> Bool {
    let pending = host.pending
    ofHost.store(outer.rawValue, ordering: .relaxed)
    if let run, pending == .wake { markPending(for: run) }
    return pending != .none
  }

  /// Called when the wait and the run around it were left. Passes a pending wake to the run, whose end passes it on. A
  /// poll more than necessary does no harm.
  func endLeftHostedWait(_ outer: OfHost, inside run: Activation) {
    if host.pending == .wake { run.wakes.insert(.pendingWake) }
    ofHost.store(outer.rawValue, ordering: .relaxed)
  }

  /// Keeps a new post for the host.
  func keepForHost() { keepForHost(word.take()) }

  /// Makes the loop's descriptor readable while the host is about to sleep. A run inside the host's wait has taken the
  /// posts, and may have fetched events that the descriptor does not show any more.
  func goOnSleeping() {
    repeat { keepForHost() } while !word.beginWait()
    word.interrupt()
  }

  var hasPendingForHost: Bool { host.pending != .none }
}
