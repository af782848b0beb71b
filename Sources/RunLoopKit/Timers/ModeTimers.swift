internal import Synchronization

/// The timers of one mode, on all clocks. An expiry on one clock fires the timers that are due on any clock. Guarded by
/// the loop's lock.
///
/// Some functions are mutating though they only read: otherwise the compiler (6.3) copies the whole value to read it.
struct ModeTimers: ~Copyable {
  /// In the order of `TimerClock`. Each is made with the first timer on its clock, and kept.
  private var row = OneOrMany<ClockTimers>()
  /// Until this moment on the suspending clock no timer has to fire, and a timerfd reports the moment. 0 if it is not
  /// known, so that a pass reads the heaps. Read without the lock, so that a pass with nothing due needs no lock.
  private let restUntil = Atomic<UInt64>(Time.forever)

  /// Adds a timer and returns its token. The first timer on a clock makes the heap, and the timerfd if a descriptor is
  /// free.
  @inline(__always)
  mutating func insert(_ timer: RunLoop.Timer, watchedBy set: PortSet?, on loop: RunLoop) throws(RunLoopError) -> UInt64
  {
    if let first = row.first, first.isOn(timer.clock) { return try first.heap.insert(timer) }
    return try insertBesides(timer, watchedBy: set, on: loop)
  }

  /// The rest of `insert`: for the first timer on its clock, or for a clock that is not the first of the row.
  @inline(never)
  private mutating func insertBesides(
    _ timer: RunLoop.Timer, watchedBy set: PortSet?, on loop: RunLoop
  ) throws(RunLoopError) -> UInt64 {
    try makeHeap(of: timer.clock, on: loop)
    // Without a timerfd the waits carry the date.
    try? makePort(timer.clock, in: set, on: loop)
    return try heap(of: timer.clock)!.insert(timer)  // `makeHeap` has made it
  }

  @inline(__always)
  mutating func remove(_ timer: RunLoop.Timer, token: UInt64) {
    heap(of: timer.clock)!.remove(timer, token: token)  // made when the timer was inserted, and kept since
  }

  private mutating func makeHeap(of clock: RunLoop.TimerClock, on loop: RunLoop) throws(RunLoopError) {
    guard heap(of: clock) == nil else { return }
    row.insert(try ClockTimers(clock, loop.kernel)) { clock.place < $0.clock.place }
  }

  /// Makes a clock's heap and timerfd unless they exist, and adds the timerfd to the set, if there is one.
  mutating func makePort(_ clock: RunLoop.TimerClock, in set: PortSet?, on loop: RunLoop) throws(RunLoopError) {
    try makeHeap(of: clock, on: loop)
    var failure: RunLoopError?
    row.change { made in
      guard made.clock == clock else { return }
      do throws(RunLoopError) { try made.makePort(in: set, loop.kernel) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Called when the mode's port set was made: adds the timerfds that exist. If the set refuses a timerfd, the next
  /// arming tries to add it again.
  mutating func enterPorts(_ set: PortSet, on loop: RunLoop) {
    row.change { if $0.hasPort, $0.heap.count > 0 { try? $0.makePort(in: set, loop.kernel) } }
  }

  var hasPorts: Bool { row.contains { $0.hasPort } }

  mutating func destroy() {
    row.change { $0.destroy() }
    row = OneOrMany()
  }

  deinit { row.forEach { $0.destroy() } }

  // MARK: The row

  /// Not inlined, since few modes have timers on several clocks.
  @inline(never)
  private mutating func hasOther(where isWanted: (ClockTimers) -> Bool) -> Bool {
    row.others?.contains(where: isWanted) == true
  }

  /// How many timers are members, firing ones included.
  var count: Int { row.reduce(0) { $0 + $1.heap.count } }

  var clocks: [ClockTimers] { Array(row) }

  @inline(__always)
  private mutating func heap(of clock: RunLoop.TimerClock) -> TimerHeap? {
    if let first = row.first, first.isOn(clock) { return first.heap }
    return row.others == nil ? nil : otherHeap(of: clock)
  }

  @inline(never)
  private mutating func otherHeap(of clock: RunLoop.TimerClock) -> TimerHeap? {
    row.others!.first { $0.clock == clock }?.heap
  }

  var members: [RunLoop.Timer] { row.flatMap { $0.heap.members } }

  // MARK: Rest. Read by the loop's thread without the lock

  /// True while a pass need read neither the heaps nor the members that epoll does not watch.
  var isAtRest: Bool { restEnd != 0 }

  /// Until when the mode rests, on the suspending clock. 0 if it does not rest.
  var restEnd: UInt64 { restUntil.load(ordering: .acquiring) }

  /// False if no timer has to fire now. Reads the clock once at most.
  @inline(__always)
  var mayBeDue: Bool {
    let end = restUntil.load(ordering: .acquiring)
    return end != Time.forever && (end == 0 || end <= Kernel.now())
  }

  /// Makes each pass read the heaps, until the next `arm`. Called for a change after which the caller unlocks without
  /// an `arm`.
  func endRest() { restUntil.store(0, ordering: .releasing) }

  // MARK: Dates

  /// Puts a member's date into its heap. Before it unlocks, the caller arms the timerfd (`arm`), or calls `endRest` and
  /// arms it later. Under the timer's leaf lock too.
  @inline(__always)
  mutating func set(_ timer: RunLoop.Timer, token: UInt64) {
    let schedule = timer.schedule
    heap(of: timer.clock)!
      .arm(token: token, deadline: schedule.date(on: timer.clock), tolerance: schedule.tolerance)
  }

  mutating func spread(_ timer: RunLoop.Timer, token: UInt64) {
    heap(of: timer.clock)?.setTolerance(timer.schedule.tolerance, token: token)
  }

  @inline(__always)
  mutating func clear(_ timer: RunLoop.Timer, token: UInt64) {
    endRest()
    heap(of: timer.clock)?.disarm(token: token)
  }

  mutating func isSet(_ timer: RunLoop.Timer, token: UInt64) -> Bool {
    heap(of: timer.clock)?.isArmed(token: token) != false
  }

  /// Returns nil, and sets how long passes rest, if nothing has to be armed, because there is no timer, or because
  /// there is only one clock and its `armedDate` is not nil. Otherwise returns the date of the row's first clock, which
  /// `arm` takes.
  @inline(__always)
  mutating func unarmedDate() -> UInt64? {
    guard let first = row.first else {
      restUntil.store(Time.forever, ordering: .releasing)
      return nil
    }
    let wakeAt = first.heap.wakeAt
    guard row.others == nil, let date = first.armedDate(wakeAt) else { return wakeAt }
    restUntil.store(first.isOn(.suspending) ? date : 0, ordering: .releasing)
    return nil
  }

  /// Arms the timerfds for their clocks' first timers, and makes those that are missing. Call it directly after a
  /// change, even during a callout: the moment of an expiry decides its place among the ready ports (rule 10). Returns
  /// false if a timerfd cannot be armed: then the waits carry its date.
  /// - Parameters:
  ///   - date: What `unarmedDate` has returned.
  ///   - sparesPast: As in `ClockTimers.arm`.
  @inline(__always)
  mutating func arm(for date: UInt64, in set: PortSet, sparesPast: Bool, on loop: RunLoop) -> Bool {
    guard row.first != nil else { return true }
    let date = row.first!.arm(for: date, in: set, sparesPast: sparesPast, on: loop)
    if row.others != nil { return armOthers(in: set, sparesPast, on: loop) && date != nil }
    restUntil.store(row.first!.isOn(.suspending) ? date ?? 0 : 0, ordering: .releasing)
    return date != nil
  }

  @inline(never)
  private mutating func armOthers(in set: PortSet, _ sparesPast: Bool, on loop: RunLoop) -> Bool {
    endRest()
    var isArmed = true
    row.changeOthers { clock in
      if clock.arm(for: clock.heap.wakeAt, in: set, sparesPast: sparesPast, on: loop) == nil { isArmed = false }
    }
    return isArmed
  }

  /// Drops the timerfds that other code has closed; the next arming makes others. One system call for each that is
  /// armed.
  @inline(never)
  mutating func verifyPorts(in set: PortSet) {
    endRest()
    row.change { $0.verifyPort(in: set) }
  }

  /// Called when epoll has lost a timerfd.
  mutating func lose(_ hint: PortSet.Hint, in set: PortSet) {
    endRest()
    row.change { if $0.hint == hint { $0.losePort(from: set) } }
  }

  /// Arms the timerfd of the suspending clock for `date`, unless it expires earlier. Returns false if no expiry will
  /// come.
  mutating func want(_ date: UInt64) -> Bool {
    guard let first = row.first, first.clock == .suspending else { return false }
    endRest()
    return first.want(date)
  }

  /// When a wait must end by itself, for timers whose date no timerfd reports: a date on the suspending clock.
  mutating func carriedDate(_ kernel: Kernel?) -> UInt64 {
    var date = Time.forever
    row.change {
      if $0.armedDate($0.heap.wakeAt) == nil { date = min(date, $0.carriedDate(now: kernel.now(), kernel)) }
    }
    return date
  }

  /// When the first timer must fire, on the suspending clock, as the clocks stand now.
  var wakeAt: UInt64 {
    mutating get {
      guard let first = row.first else { return Time.forever }
      if row.others == nil && first.clock == .suspending { return first.heap.wakeAt }
      let now = Kernel.now()
      var date = Time.forever
      row.change { date = min(date, $0.onSuspendingClock($0.heap.wakeAt, now, .current)) }
      return date
    }
  }

  // MARK: Expiries

  /// Whether a timer is due. With `soft`, which a caller passes after an expiry, a timer is due once its date has come.
  /// Otherwise it is due only once its tolerance has passed as well.
  @inline(__always)
  mutating func isDue(soft: Bool) -> Bool {
    guard let first = row.first else { return false }
    return first.isDue(soft: soft) || (row.others != nil && hasOther { $0.isDue(soft: soft) })
  }

  /// Returns true if timers are due on any clock. The caller is about to fire them, so this keeps the timerfds from
  /// being armed for these dates again.
  @inline(__always)
  mutating func takeExpiry(soft: Bool) -> Bool {
    endRest()
    let isDue = row.first?.takeExpiry(soft: soft) == true
    return row.others == nil ? isDue : takeOtherExpiries(soft: soft) || isDue
  }

  @inline(never)
  private mutating func takeOtherExpiries(soft: Bool) -> Bool {
    var isDue = false
    row.changeOthers { if $0.takeExpiry(soft: soft) { isDue = true } }
    return isDue
  }

  /// Called when the due timers are about to be collected, or when no pass will fire them.
  @inline(__always)
  mutating func forgetExpiries() {
    endRest()
    row.first?.forgetExpiry()
    if row.others != nil { row.changeOthers { $0.forgetExpiry() } }
  }

  /// Called when the event of a timerfd was taken from the set. Setting the wall clock causes such an event, too.
  func noteExpiry(_ hint: PortSet.Hint) {
    if let first = row.first, first.hint == hint { return first.noteExpiry() }
    row.others?.first { $0.hint == hint }?.noteExpiry()
  }

  /// Takes the timers that are due at `now` out of the heaps, in the order of the moments at which they became due.
  /// Equal moments go by clock, and on one clock in the order of its heap. `mode` is the mode whose timers these are.
  mutating func collect(of mode: ModePointer, now: UInt64, into collected: inout CollectedTimers) {
    forgetExpiries()
    guard let first = row.first else { return }
    let base = collected.count
    collected.append(dueIn: first.heap, of: mode, now: first.clock == .suspending ? now : Kernel.now(first.clock))
    if row.others != nil { collectOthers(of: mode, behind: base, into: &collected) }
    // A nested run fires those of these timers that are left, behind the ports that are ready by now. To get that
    // place, the timerfd is armed to expire at once. Without ports, or if the timerfd cannot be armed, the nested run
    // reads the clock.
    if collected.count - base > 1, mode.counts.hasWatched {
      _ = first.want(first.clock == .suspending ? now : Kernel.now(first.clock))
    }
  }

  @inline(never)
  private func collectOthers(of mode: ModePointer, behind base: Int, into collected: inout CollectedTimers) {
    var clocks = collected.count > base ? 1 : 0
    for other in row.others! {
      let before = collected.count
      collected.append(dueIn: other.heap, of: mode, now: Kernel.now(other.clock))
      if collected.count > before { clocks += 1 }
    }
    if clocks > 1 { collected.sortByMoment(from: base) }
  }

  /// The earliest date as its timer reports it, firing and collected timers included; nil if there is none. Dates on
  /// other clocks are converted to the suspending clock, as the clocks stand now.
  func firstDate(of mode: ModePointer, _ collected: borrowing CollectedTimers, _ kernel: Kernel?) -> UInt64? {
    guard let first = row.first, count > 0 else { return nil }
    let now = kernel.now()
    if row.others == nil, first.clock == .suspending {
      let date = min(first.heap.first, collected.firstDate(of: mode))
      // The date that a timer reports differs from the date at which it fires only if it was in the past when it was
      // set (A14).
      if date > now { return date }
    }
    return row.flatMap { clock in
      clock.heap.members.map { timer in
        let (date, reported) = timer.withSchedule { ($0.date(on: clock.clock), $0.reported) }
        return (clock.onSuspendingClock(date, now, kernel), clock.onSuspendingClock(reported, now, kernel))
      }
    }.min { $0.0 < $1.0 }?.1
  }
}
