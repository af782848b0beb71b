/// The timers of one mode, on whatever clocks: what is due on any of them fires by the same expiry. Under the loop's
/// lock.
///
/// What only looks is mutating where it has to be quick, since the compiler (6.3) copies all of it for a look
/// otherwise.
struct ModeTimers: ~Copyable {
  // One row in the order of `TimerClock`, each made with its clock's first timer, and kept. Mostly it is of one, which
  // lies here.
  private var first: ClockTimers?
  /// Nil rather than empty.
  private var others: ContiguousArray<ClockTimers>?

  /// The timer's token. The heap and the timerfd of its clock are made with the first; `set`, if there is one, watches
  /// the latter.
  @inline(__always)
  mutating func insert(_ timer: RunLoop.Timer, heardBy set: PortSet?, on loop: RunLoop) throws(RunLoopError) -> UInt64 {
    if let first, first.serves(timer.clock, set) { return try first.heap.insert(timer) }
    return try insertBesides(timer, heardBy: set, on: loop)
  }

  /// The first one of its clock, or one of another clock than most.
  @inline(never)
  private mutating func insertBesides(
    _ timer: RunLoop.Timer, heardBy set: PortSet?, on loop: RunLoop
  ) throws(RunLoopError) -> UInt64 {
    try make(timer.clock, heardBy: set, on: loop)
    // Made in the line above.
    return try heap(of: timer.clock)!.insert(timer)
  }

  @inline(__always)
  mutating func remove(_ timer: RunLoop.Timer, token: UInt64) {
    // Made when the timer was inserted; it lasts as long as the mode.
    heap(of: timer.clock)!.remove(timer, token: token)
  }

  /// The heap and the timerfd of a clock; nothing if they are there.
  @inline(never)
  mutating func make(_ clock: RunLoop.TimerClock, heardBy set: PortSet?, on loop: RunLoop) throws(RunLoopError) {
    var isMade = false
    var failure: RunLoopError?
    forEach { made in
      guard made.clock == clock else { return }
      isMade = true
      do throws(RunLoopError) { try made.enter(set) } catch { failure = error }
    }
    if let failure { throw failure }
    guard !isMade else { return }
    var made = try ClockTimers(clock, loop.kernel)
    do throws(RunLoopError) {
      try made.enter(set)
    } catch {
      made.destroy()
      throw error
    }
    insert(made)
  }

  private mutating func insert(_ made: ClockTimers) {
    guard let first else { return self.first = made }
    var row = others ?? []
    if made.clock.place < first.clock.place {
      row.insert(first, at: 0)
      self.first = made
    } else {
      row.insert(made, at: row.firstIndex { made.clock.place < $0.clock.place } ?? row.endIndex)
    }
    others = row
  }

  /// A timerfd that a set does not watch yet. One that has lost its timers before it entered a set is not asked for.
  @inline(__always)
  var needsHint: Bool {
    mutating get {
      guard let first else { return false }
      return first.needsHint || (others != nil && hasOther { $0.needsHint })
    }
  }

  mutating func enter(_ set: PortSet) throws(RunLoopError) {
    var failure: RunLoopError?
    forEach { clock in
      guard clock.needsHint else { return }
      do throws(RunLoopError) { try clock.enter(set) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  mutating func destroy() {
    forEach { $0.destroy() }
    first = nil
    others = nil
  }

  deinit {
    first?.destroy()
    others?.forEach { $0.destroy() }
  }

  // MARK: The row

  private mutating func forEach(_ body: (inout ClockTimers) -> Void) {
    if first != nil { body(&first!) }
    forEachOther(body)
  }

  /// Out of the way of those modes that have none.
  @inline(never)
  private mutating func forEachOther(_ body: (inout ClockTimers) -> Void) {
    if others != nil { for index in others!.indices { body(&others![index]) } }
  }

  @inline(never)
  private mutating func hasOther(where isWanted: (ClockTimers) -> Bool) -> Bool {
    others?.contains(where: isWanted) == true
  }

  /// Of its members, firing ones included.
  var count: Int { clocks.reduce(0) { $0 + $1.heap.count } }

  var clocks: [ClockTimers] { (first.map { [$0] } ?? []) + (others ?? []) }

  @inline(__always)
  private mutating func heap(of clock: RunLoop.TimerClock) -> TimerHeap? {
    if let first, first.isOn(clock) { return first.heap }
    return others == nil ? nil : otherHeap(of: clock)
  }

  @inline(never)
  private mutating func otherHeap(of clock: RunLoop.TimerClock) -> TimerHeap? {
    others!.first { $0.clock == clock }?.heap
  }

  var members: [RunLoop.Timer] {
    // Proof: `insert` takes nothing else.
    clocks.flatMap { $0.heap.members.map { unsafeDowncast($0, to: RunLoop.Timer.self) } }
  }

  // MARK: Dates

  /// Of a member; the timerfd is another step (`arm`). Under its leaf lock too.
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
  mutating func clear(_ timer: RunLoop.Timer, token: UInt64) { heap(of: timer.clock)?.disarm(token: token) }

  mutating func isSet(_ timer: RunLoop.Timer, token: UInt64) -> Bool {
    heap(of: timer.clock)?.isArmed(token: token) != false
  }

  /// Wants the timerfds to expire for their clocks' first timers. At once, also during a callout and while the loop
  /// does not run: an expiry's place among the ready ports is the moment at which it comes (rule 10). False if one
  /// cannot be armed.
  @inline(__always)
  mutating func arm() -> Bool {
    guard let first else { return true }
    let isArmed = first.arm()
    return others == nil ? isArmed : armOthers() && isArmed
  }

  @inline(never)
  private mutating func armOthers() -> Bool { others!.reduce(true) { $1.arm() && $0 } }

  /// Wants an expiry at that date besides those of timers. False if there will be none.
  mutating func want(_ date: UInt64) -> Bool {
    guard let first, first.clock == .suspending else { return false }
    return first.port.want(date)
  }

  /// When the first of them must fire, on the suspending clock as the clocks stand now.
  var wakeAt: UInt64 {
    guard let first else { return Time.forever }
    if others == nil && first.clock == .suspending { return first.heap.wakeAt }
    let now = Kernel.now()
    return clocks.map { $0.onSuspendingClock($0.heap.wakeAt, now, .current) }.min() ?? Time.forever
  }

  // MARK: Expiries

  /// `soft`: an expiry has come, so that everything whose date has come may fire; else only what must.
  @inline(__always)
  mutating func isDue(soft: Bool) -> Bool {
    guard let first else { return false }
    return first.isDue(soft: soft) || (others != nil && hasOther { $0.isDue(soft: soft) })
  }

  /// True if timers are due, which the caller is about to fire. All clocks are asked.
  @inline(__always)
  mutating func takeExpiry(soft: Bool) -> Bool {
    guard first != nil else { return false }
    let isDue = first!.takeExpiry(soft: soft)
    return others == nil ? isDue : takeOtherExpiries(soft: soft) || isDue
  }

  @inline(never)
  private mutating func takeOtherExpiries(soft: Bool) -> Bool {
    var isDue = false
    forEachOther { if $0.takeExpiry(soft: soft) { isDue = true } }
    return isDue
  }

  /// They are about to be collected, or there will be no pass for them.
  @inline(__always)
  mutating func forgetExpiries() {
    first?.forgetExpiry()
    if others != nil { forEachOther { $0.forgetExpiry() } }
  }

  /// A timerfd's event was taken from the set; also that of a wall clock which was set.
  func noteExpiry(_ hint: PortSet.Hint) {
    if let first, first.hint == hint { return first.port.noteExpiry() }
    others?.first { $0.hint == hint }?.port.noteExpiry()
  }

  /// Takes what is due out of the heaps, of the mode that this is of: at `now`, in the order of the moments at which it
  /// became due; equal ones by clock, and on one clock as its heap has them.
  mutating func collect(of mode: ModePointer, now: UInt64, into collected: inout CollectedTimers) {
    forgetExpiries()
    guard let first else { return }
    let base = collected.count
    collected.append(dueIn: first.heap, of: mode, now: first.clock == .suspending ? now : Kernel.now(first.clock))
    if others != nil { collectOthers(of: mode, behind: base, into: &collected) }
    // A nested run serves the rest of these, behind the ports that are ready by now: an expiry at once. One that cannot
    // be armed has been noted when its timers were.
    if collected.count - base > 1 { first.port.want(first.clock == .suspending ? now : Kernel.now(first.clock)) }
  }

  @inline(never)
  private func collectOthers(of mode: ModePointer, behind base: Int, into collected: inout CollectedTimers) {
    var clocks = collected.count > base ? 1 : 0
    for other in others! {
      let before = collected.count
      collected.append(dueIn: other.heap, of: mode, now: Kernel.now(other.clock))
      if collected.count > before { clocks += 1 }
    }
    if clocks > 1 { collected.sortByMoment(from: base) }
  }

  /// The earliest date, as reported, firing and collected ones included; nil if there is none. Of all clocks on the
  /// suspending one as they stand now.
  func firstDate(of mode: ModePointer, _ collected: borrowing CollectedTimers, _ kernel: Kernel?) -> UInt64? {
    guard let first, count > 0 else { return nil }
    let now = kernel.now()
    if others == nil, first.clock == .suspending {
      let date = min(first.heap.first, collected.firstDate(of: mode))
      // Only a date that was in the past when it was set is reported otherwise than it counts (A14).
      if date > now { return date }
    }
    return clocks.flatMap { clock in
      clock.heap.members.map { member in
        // As in `members`.
        let timer = unsafeDowncast(member, to: RunLoop.Timer.self)
        let (date, reported) = timer.withSchedule { ($0.date(on: clock.clock), $0.reported) }
        return (clock.onSuspendingClock(date, now, kernel), clock.onSuspendingClock(reported, now, kernel))
      }
    }.min { $0.0 < $1.0 }?.1
  }
}

// MARK: What is due

/// Due timers that the passes on a loop's stack have taken out of their heaps, the innermost pass's last. Under the
/// loop's lock; its own thread alone adds and removes, and may read without.
struct CollectedTimers: ~Copyable {
  /// Made with the first timer that is due: most loops have none.
  private var made: UnsafeMutablePointer<Row<Entry>>?

  struct Entry {
    /// Held until it is taken out.
    let timer: Unmanaged<RunLoop.Timer>
    let mode: ModePointer
    /// Of its membership; 0 once its turn has come.
    fileprivate(set) var token: UInt64
  }

  /// Of one that was made.
  private var row: Row<Entry> {
    @inline(__always) unsafeAddress { UnsafePointer(made!) }
    @inline(__always) unsafeMutableAddress { made! }
  }

  deinit { made?.destroy() }

  var count: Int { made == nil ? 0 : row.count }

  func timer(at index: Int) -> Unmanaged<RunLoop.Timer> { row[index].timer }

  func isLast(_ index: Int) -> Bool { index == count - 1 }

  /// All that a heap has due at `now` on its clock.
  @inline(__always)
  mutating func append(dueIn heap: TimerHeap, of mode: ModePointer, now: UInt64) {
    if made == nil { made = .make(Row()) }
    // Made above.
    var receiver = DueTimers(row: made!, mode: mode)
    heap.takeAllDue(now: now, for: &receiver, collectTimer)
  }

  /// Its turn has come; nil if a nested run has taken it.
  @inline(__always)
  mutating func take(at index: Int) -> Entry? {
    let entry = row[index]
    row[index].token = 0
    return entry.token == 0 ? nil : entry
  }

  /// What the caller releases without the lock: it may be the last reference.
  mutating func takeLast() -> Unmanaged<RunLoop.Timer> { row.takeLast().timer }

  mutating func takeAll() -> [Unmanaged<RunLoop.Timer>] {
    var timers: [Unmanaged<RunLoop.Timer>] = []
    while count > 0 { timers.append(takeLast()) }
    return timers
  }

  /// Back into the heaps: a nested run fires what the passes on the stack have not reached (rule 33). What has been
  /// given another date meanwhile is there already.
  func putBack() {
    for index in 0..<count where row[index].token != 0 {
      let entry = row[index]
      let timer = entry.timer.takeUnretainedValue()
      guard timer.isValid, !timer.isFiring, timer.token(in: entry.mode) == entry.token,
        !entry.mode.timers.isSet(timer, token: entry.token)
      else { continue }
      timer.withLeafLock { entry.mode.timers.set(timer, token: entry.token) }
    }
  }

  /// Of the mode's members among them, all on the suspending clock.
  func firstDate(of mode: ModePointer) -> UInt64 {
    var first = Time.forever
    for index in 0..<count {
      let timer = row[index].timer.takeUnretainedValue()
      if timer.isMember(of: mode) { first = min(first, timer.withSchedule { $0.date }) }
    }
    return first
  }

  /// The moments are dates translated to the suspending clock by one reading of each clock, all read in a row: of two
  /// clocks, what is closer together than these readings are has no order.
  mutating func sortByMoment(from base: Int) {
    let nows = RunLoop.TimerClock.allCases.map { Kernel.now($0) }
    // On the suspending clock; negative if that is from before the machine was started.
    let moments = (base..<count).map { index in
      row[index].timer._withUnsafeGuaranteedRef { timer in
        let date = timer.withSchedule { $0.date(on: timer.clock) }
        let now = nows[Int(timer.clock.place)]
        return Int64(clamping: nows[0]) - Int64(clamping: now > date ? now - date : 0)
      }
    }
    let order = moments.indices.sorted { (moments[$0], $0) < (moments[$1], $1) }
    let collected = (base..<count).map { row[$0] }
    for (place, index) in order.enumerated() { row[base + place] = collected[index] }
  }

  /// Among what one expiry serves: the dates that only tolerant timers have, but for the one that would have been a
  /// wake anyway. All that was due when the loop fell asleep counts as one date: it would have been served by one look.
  /// So nothing is saved by a loop that was late; `sleep` is never if it has not slept at all.
  func wakesSaved(from base: Int, since sleep: UInt64) -> UInt64 {
    if sleep == Time.forever { return 0 }
    var exact: Set<UInt64> = [], tolerant: Set<UInt64> = []
    for index in base..<count {
      let schedule = row[index].timer._withUnsafeGuaranteedRef { timer in timer.withSchedule { $0 } }
      let date = max(schedule.date, sleep)
      if schedule.tolerance > 0 { tolerant.insert(date) } else { exact.insert(date) }
    }
    let saved = tolerant.subtracting(exact).count
    return UInt64(exact.isEmpty ? max(saved, 1) - 1 : saved)
  }
}

/// Where a heap's due timers go.
private struct DueTimers {
  let row: UnsafeMutablePointer<Row<CollectedTimers.Entry>>
  let mode: ModePointer
}

private func collectTimer(_ receiver: UnsafeMutableRawPointer, _ timer: UnsafeMutableRawPointer, _ token: UInt64) {
  // What `append` passes, on its stack.
  let receiver = receiver.assumingMemoryBound(to: DueTimers.self).pointee
  // A context of the heap, whose members are timers, retained by it; under the lock that they leave it by.
  let timer = Unmanaged<RunLoop.Timer>.fromOpaque(timer).retain()
  receiver.row.pointee.append(CollectedTimers.Entry(timer: timer, mode: receiver.mode, token: token))
}
