/// Due timers that the passes on a loop's stack have taken out of their heaps, the innermost pass's last. Under the
/// loop's lock; its own thread alone adds and removes, and may read without.
struct CollectedTimers: ~Copyable {
  /// Made with the first timer that is due: most loops have none.
  private var made: UnsafeMutablePointer<Row<Entry>>?

  struct Entry {
    /// Held until it is taken out or let go, which is nil.
    fileprivate(set) var timer: Unmanaged<RunLoop.Timer>?
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

  /// Of one that was not let go.
  func timer(at index: Int) -> Unmanaged<RunLoop.Timer> { row[index].timer.unsafelyUnwrapped }

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

  /// Its turn is over: the caller releases the timer, without the lock, since it may be the last reference.
  @inline(__always)
  mutating func letGo(at index: Int) { row[index].timer = nil }

  /// Takes out the last one behind `base` that was not let go, and what follows it: the caller releases it as above.
  mutating func takeLast(behind base: Int) -> Unmanaged<RunLoop.Timer>? {
    while count > base { if let timer = row.takeLast().timer { return timer } }
    return nil
  }

  mutating func takeAll() -> [Unmanaged<RunLoop.Timer>] {
    var timers: [Unmanaged<RunLoop.Timer>] = []
    while let timer = takeLast(behind: 0) { timers.append(timer) }
    return timers
  }

  /// Back into the heaps: a nested run fires what the passes on the stack have not reached (rule 33). What has been
  /// given another date meanwhile is there already.
  func putBack() {
    for index in 0..<count where row[index].token != 0 {
      let entry = row[index]
      // Its turn has not come.
      let timer = self.timer(at: index).takeUnretainedValue()
      guard timer.isValid, !timer.isFiring, timer.token(in: entry.mode) == entry.token,
        !entry.mode.timers.isSet(timer, token: entry.token)
      else { continue }
      timer.withLeafLock { entry.mode.timers.set(timer, token: entry.token) }
      entry.mode.timers.endRest()
    }
  }

  /// Of the mode's members among them, all on the suspending clock.
  func firstDate(of mode: ModePointer) -> UInt64 {
    var first = Time.forever
    for index in 0..<count {
      guard let timer = row[index].timer?.takeUnretainedValue() else { continue }
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

  /// Among what one expiry serves: the dates that only tolerant timers have, but for the one that would have been a
  /// wake anyway. All that was due when the loop fell asleep counts as one date: it would have been served by one look.
  /// So nothing is saved by a loop that was late; `sleep` is never if it has not slept at all.
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
