internal import Synchronization

/// The timers of one mode, on whatever clocks: what is due on any of them fires by the same expiry. Under the loop's
/// lock.
///
/// What only looks is mutating where it has to be quick, since the compiler (6.3) copies all of it for a look
/// otherwise.
struct ModeTimers: ~Copyable {
  /// In the order of `TimerClock`, each made with its clock's first timer, and kept.
  private var row = OneOrMany<ClockTimers>()
  /// Before this moment, on the suspending clock, no timer has to fire, and the kernel reports it when it comes; 0: not
  /// known, or untrue. Read without the lock: a pass that finds nothing due leaves the heaps alone.
  private let restUntil = Atomic<UInt64>(Time.forever)

  /// The timer's token. The heap of its clock is made with the first one, and the timerfd if there is a descriptor for
  /// it.
  @inline(__always)
  mutating func insert(_ timer: RunLoop.Timer, heardBy set: PortSet?, on loop: RunLoop) throws(RunLoopError) -> UInt64 {
    if let first = row.first, first.isOn(timer.clock) { return try first.heap.insert(timer) }
    return try insertBesides(timer, heardBy: set, on: loop)
  }

  /// The first one of its clock, or one of another clock than most.
  @inline(never)
  private mutating func insertBesides(
    _ timer: RunLoop.Timer, heardBy set: PortSet?, on loop: RunLoop
  ) throws(RunLoopError) -> UInt64 {
    try makeHeap(of: timer.clock, on: loop)
    // Without one the waits carry the date.
    try? makePort(timer.clock, in: set, on: loop)
    // Made in the line above.
    return try heap(of: timer.clock)!.insert(timer)
  }

  @inline(__always)
  mutating func remove(_ timer: RunLoop.Timer, token: UInt64) {
    // Made when the timer was inserted; it lasts as long as the mode has timers.
    heap(of: timer.clock)!.remove(timer, token: token)
  }

  private mutating func makeHeap(of clock: RunLoop.TimerClock, on loop: RunLoop) throws(RunLoopError) {
    guard heap(of: clock) == nil else { return }
    row.insert(try ClockTimers(clock, loop.kernel)) { clock.place < $0.clock.place }
  }

  /// The timerfd of a clock, which the set watches, if there is one; nothing if both are so.
  mutating func makePort(_ clock: RunLoop.TimerClock, in set: PortSet?, on loop: RunLoop) throws(RunLoopError) {
    try makeHeap(of: clock, on: loop)
    var failure: RunLoopError?
    row.change { made in
      guard made.clock == clock else { return }
      do throws(RunLoopError) { try made.makePort(in: set, loop.kernel) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// The set has been made: it watches those that there are. One that it refuses is tried again when it is armed.
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

  /// Out of the way of those modes that have none.
  @inline(never)
  private mutating func hasOther(where isWanted: (ClockTimers) -> Bool) -> Bool {
    row.others?.contains(where: isWanted) == true
  }

  /// Of its members, firing ones included.
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

  var members: [RunLoop.Timer] {
    // Proof: `insert` takes nothing else.
    row.flatMap { $0.heap.members.map { unsafeDowncast($0, to: RunLoop.Timer.self) } }
  }

  // MARK: Rest. Read by the loop's thread without the lock

  /// A look at the heaps, and at what epoll does not watch, would find nothing to do.
  @inline(__always)
  var isAtRest: Bool { restEnd != 0 }

  /// Until when, on the suspending clock; 0: it does not rest.
  @inline(__always)
  var restEnd: UInt64 { restUntil.load(ordering: .acquiring) }

  /// False if none has to fire now; one reading of the clock at most.
  @inline(__always)
  var mayBeDue: Bool {
    let end = restUntil.load(ordering: .acquiring)
    return end != Time.forever && (end == 0 || end <= Kernel.now())
  }

  /// From here to the next `arm` a pass looks into the heaps. For changes that no `arm` follows under the same lock.
  @inline(__always)
  func endRest() { restUntil.store(0, ordering: .releasing) }

  // MARK: Dates

  /// Of a member; the timerfd is another step, which follows under the same lock (`arm`, or `endRest` and later
  /// `arm`). Under its leaf lock too.
  @inline(__always)
  mutating func set(_ timer: RunLoop.Timer, token: UInt64) {
    let schedule = timer.schedule
    heap(of: timer.clock)!
      .arm(token: token, deadline: schedule.date(on: timer.clock), tolerance: schedule.tolerance)
  }

  /// A new tolerance, and the same place among equal dates.
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

  /// Nil if the timerfds expire for their clocks' first timers as it is, and a pass may rest until then; else the date
  /// of the first clock.
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

  /// Wants the timerfds to expire for their clocks' first timers, and makes those that there are not. At once, also
  /// during a callout: an expiry's place among the ready ports is the moment at which it comes (rule 10). False if one
  /// cannot be armed: then the waits carry its date.
  /// - Parameters:
  ///   - date: What `unarmedDate` has answered.
  ///   - sparesPast: A date that has come is left to the pass.
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

  /// Other code may have closed the timerfds: one that is gone is made again when it is armed next. One system call for
  /// each that is armed.
  @inline(never)
  mutating func verifyPorts(in set: PortSet) {
    endRest()
    row.change { $0.verifyPort(in: set) }
  }

  /// Epoll has lost a timerfd.
  mutating func lose(_ hint: PortSet.Hint, in set: PortSet) {
    endRest()
    row.change { if $0.hint == hint { $0.losePort(from: set) } }
  }

  /// Wants an expiry at that date, on the suspending clock, besides those of timers. False if there will be none.
  mutating func want(_ date: UInt64) -> Bool {
    guard let first = row.first, first.clock == .suspending else { return false }
    endRest()
    return first.want(date)
  }

  /// When a wait has to end by itself, for timers whose timerfd will not end it: on the suspending clock.
  mutating func carriedDate(_ kernel: Kernel?) -> UInt64 {
    var date = Time.forever
    row.change {
      if $0.armedDate($0.heap.wakeAt) == nil { date = min(date, $0.carriedDate(now: kernel.now(), kernel)) }
    }
    return date
  }

  /// When the first of them must fire, on the suspending clock as the clocks stand now.
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

  /// `soft`: an expiry has come, so that everything whose date has come may fire; else only what must.
  @inline(__always)
  mutating func isDue(soft: Bool) -> Bool {
    guard let first = row.first else { return false }
    return first.isDue(soft: soft) || (row.others != nil && hasOther { $0.isDue(soft: soft) })
  }

  /// True if timers are due, which the caller is about to fire. All clocks are asked.
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

  /// They are about to be collected, or there will be no pass for them.
  @inline(__always)
  mutating func forgetExpiries() {
    endRest()
    row.first?.forgetExpiry()
    if row.others != nil { row.changeOthers { $0.forgetExpiry() } }
  }

  /// A timerfd's event was taken from the set; also that of a wall clock which was set.
  func noteExpiry(_ hint: PortSet.Hint) {
    if let first = row.first, first.hint == hint { return first.noteExpiry() }
    row.others?.first { $0.hint == hint }?.noteExpiry()
  }

  /// Takes what is due out of the heaps, of the mode that this is of: at `now`, in the order of the moments at which it
  /// became due; equal ones by clock, and on one clock as its heap has them.
  mutating func collect(of mode: ModePointer, now: UInt64, into collected: inout CollectedTimers) {
    forgetExpiries()
    guard let first = row.first else { return }
    let base = collected.count
    collected.append(dueIn: first.heap, of: mode, now: first.clock == .suspending ? now : Kernel.now(first.clock))
    if row.others != nil { collectOthers(of: mode, behind: base, into: &collected) }
    // A nested run serves the rest of these, behind the ports that are ready by now: an expiry at once. Without ports,
    // or if it cannot be armed, the nested run asks the clock.
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

  /// The earliest date, as reported, firing and collected ones included; nil if there is none. Of all clocks on the
  /// suspending one as they stand now.
  func firstDate(of mode: ModePointer, _ collected: borrowing CollectedTimers, _ kernel: Kernel?) -> UInt64? {
    guard let first = row.first, count > 0 else { return nil }
    let now = kernel.now()
    if row.others == nil, first.clock == .suspending {
      let date = min(first.heap.first, collected.firstDate(of: mode))
      // Only a date that was in the past when it was set is reported otherwise than it counts (A14).
      if date > now { return date }
    }
    return row.flatMap { clock in
      clock.heap.members.map { member in
        // As in `members`.
        let timer = unsafeDowncast(member, to: RunLoop.Timer.self)
        let (date, reported) = timer.withSchedule { ($0.date(on: clock.clock), $0.reported) }
        return (clock.onSuspendingClock(date, now, kernel), clock.onSuspendingClock(reported, now, kernel))
      }
    }.min { $0.0 < $1.0 }?.1
  }
}
