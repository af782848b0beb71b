/// The due timers that the passes on a loop's stack have taken out of their heaps; those of the innermost pass come
/// last. Guarded by the loop's lock. Only the loop's own thread adds and removes, so it may read without the lock.
struct CollectedTimers: ~Copyable {
  /// Allocated with the first due timer: most loops have none.
  private var made: UnsafeMutablePointer<Row<Entry>>?

  struct Entry {
    /// Retained. Nil after `letGo`.
    fileprivate(set) var timer: Unmanaged<RunLoop.Timer>?
    let mode: ModePointer
    /// The token of the membership; 0 once the timer's turn has come.
    fileprivate(set) var token: UInt64
  }

  /// `made` must be set.
  private var row: Row<Entry> {
    unsafeAddress { UnsafePointer(made!) }
    unsafeMutableAddress { made! }
  }

  deinit { made?.destroy() }

  var count: Int { made == nil ? 0 : row.count }

  /// Call it only for an entry that still refers to its timer (see `letGo`).
  func timer(at index: Int) -> Unmanaged<RunLoop.Timer> { row[index].timer.unsafelyUnwrapped }

  func isLast(_ index: Int) -> Bool { index == count - 1 }

  /// Takes all timers that are due at `now` on the heap's clock out of the heap.
  mutating func append(dueIn heap: TimerHeap, of mode: ModePointer, now: UInt64) {
    if made == nil { made = .make(Row()) }
    var receiver = DueTimers(row: made!, mode: mode)
    heap.takeAllDue(now: now, for: &receiver, collectTimer)
  }

  /// Begins the turn of an entry. Returns nil if a nested run has taken that turn.
  mutating func take(at index: Int) -> Entry? {
    let entry = row[index]
    row[index].token = 0
    return entry.token == 0 ? nil : entry
  }

  /// Clears the entry's reference to its timer. The caller releases the timer without the lock, because the reference
  /// may be the last one.
  mutating func letGo(at index: Int) { row[index].timer = nil }

  /// Removes the last entries behind `base`, up to one that refers to its timer, and returns that timer. The caller
  /// releases it as after `letGo`.
  mutating func takeLast(behind base: Int) -> Unmanaged<RunLoop.Timer>? {
    while count > base { if let timer = row.takeLast().timer { return timer } }
    return nil
  }

  mutating func takeAll() -> [Unmanaged<RunLoop.Timer>] {
    var timers: [Unmanaged<RunLoop.Timer>] = []
    while let timer = takeLast(behind: 0) { timers.append(timer) }
    return timers
  }

  /// Puts back into their heaps the timers whose turn has not come, so that a nested run can fire them (rule 33). A
  /// timer that was given another date meanwhile is in its heap already.
  func putBack() {
    for index in 0..<count where row[index].token != 0 {
      let entry = row[index]
      // The entry's turn has not come, so it still refers to its timer.
      let timer = self.timer(at: index).takeUnretainedValue()
      guard timer.isValid, !timer.isFiring, timer.token(in: entry.mode) == entry.token,
        !entry.mode.timers.isSet(timer, token: entry.token)
      else { continue }
      timer.withLeafLock { entry.mode.timers.set(timer, token: entry.token) }
      entry.mode.timers.endRest()
    }
  }

  /// The earliest date of the collected timers that are members of the mode. All of these must be on the suspending
  /// clock.
  func firstDate(of mode: ModePointer) -> UInt64 {
    var first = Time.forever
    for index in 0..<count {
      guard let timer = row[index].timer?.takeUnretainedValue() else { continue }
      if timer.isMember(of: mode) { first = min(first, timer.withSchedule { $0.date }) }
    }
    return first
  }

  /// Sorts the entries behind `base` by the moments at which they became due, all converted to the suspending clock.
  /// The clocks are read one after the other, so dates on two clocks that are closer together than these readings have
  /// no defined order.
  mutating func sortByMoment(from base: Int) {
    let nows = RunLoop.TimerClock.allCases.map { Kernel.now($0) }
    // On the suspending clock; negative for a moment before the machine was started.
    let moments = (base..<count).map { index in
      timer(at: index)._withUnsafeGuaranteedRef { timer in
        let date = timer.withSchedule { $0.date(on: timer.clock) }
        let now = nows[Int(timer.clock.place)]
        return Int64(clamping: nows[0]) - Int64(clamping: now > date ? now - date : 0)
      }
    }
    let order = moments.indices.sorted { (moments[$0], $0) < (moments[$1], $1) }
    let collected = (base..<count).map { row[$0] }
    for (place, index) in order.enumerated() { row[base + place] = collected[index] }
  }

  /// How many wakes tolerance has saved among the timers that one expiry serves: one for each date that only tolerant
  /// timers have. If all timers are tolerant, one of these dates would have been a wake anyway, and does not count. All
  /// dates before the loop fell asleep count as one, since one pass would have served them: a loop that is late saves
  /// nothing. If the loop has not slept, `sleep` is `Time.forever`, and the result 0.
  func wakesSaved(from base: Int, since sleep: UInt64) -> UInt64 {
    if sleep == Time.forever { return 0 }
    var exact: Set<UInt64> = [], tolerant: Set<UInt64> = []
    for index in base..<count {
      let schedule = timer(at: index)._withUnsafeGuaranteedRef { timer in timer.withSchedule { $0 } }
      let date = max(schedule.date, sleep)
      if schedule.tolerance > 0 { tolerant.insert(date) } else { exact.insert(date) }
    }
    let saved = tolerant.subtracting(exact).count
    return UInt64(exact.isEmpty ? max(saved, 1) - 1 : saved)
  }
}

/// The row that receives a heap's due timers, and the heap's mode.
private struct DueTimers {
  let row: UnsafeMutablePointer<Row<CollectedTimers.Entry>>
  let mode: ModePointer
}

private func collectTimer(_ receiver: UnsafeMutableRawPointer, _ timer: UnsafeMutableRawPointer, _ token: UInt64) {
  // `append` passes the receiver, which lies on its stack.
  let receiver = receiver.assumingMemoryBound(to: DueTimers.self).pointee
  // The heap's contexts are timers, which it retains. They leave the heap under the loop's lock only, which the caller
  // holds.
  let timer = Unmanaged<RunLoop.Timer>.fromOpaque(timer).retain()
  receiver.row.pointee.append(CollectedTimers.Entry(timer: timer, mode: receiver.mode, token: token))
}
