// What a mode's timers on other clocks than the suspending one add to FireTimers.swift: each clock has its heap and its
// timerfd, and an expiry of any of them fires what is due on all. Under the lock.

extension RunLoop {
  func armOtherClocks(of mode: ModePointer) {
    for other in mode.pointee.otherClocks ?? [] where !other.arm() { noteDeafTimers(in: mode) }
  }

  /// All are asked: what is due fires by the same expiry.
  func takeOtherExpiries(of mode: ModePointer, soft: Bool) -> Bool {
    var isDue = false
    for other in mode.pointee.otherClocks ?? [] where other.takeExpiry(soft: soft) { isDue = true }
    return isDue
  }

  /// They are about to be collected, or there will be no pass for them.
  func forgetExpiries(of mode: ModePointer) {
    mode.pointee.timerExpiry.forget()
    if mode.pointee.otherClocks != nil { mode.pointee.otherClocks!.forEach { $0.forgetExpiry() } }
  }

  /// The edge of a timerfd has been taken from the set; also that of a wall clock which was set.
  func harvest(_ hint: PortSet.Hint, of mode: ModePointer) {
    let port = hint == .timer ? mode.pointee.timerPort : mode.pointee.otherClocks?.first { $0.hint == hint }?.port
    port?.harvested()
  }

  /// When the first of them must fire, on the suspending clock as the clocks stand now.
  func otherClocksWake(of mode: ModePointer) -> UInt64 {
    let now = Kernel.now()
    return mode.pointee.otherClocks?
      .map { Time.convert($0.heap.wakeAt, from: Kernel.now($0.clock), to: now) }.min() ?? Time.forever
  }

  /// Behind those of the suspending clock, which are collected already; then all are put in the order of the moments at which
  /// they became due: equal ones by clock, and on one clock as its heap has them. The moments are dates translated to the
  /// suspending clock by one reading of each clock, all read in a row: of two clocks, what is closer together than these
  /// readings are has no order.
  func collectOtherTimers(in mode: ModePointer, from base: Int) {
    let others = mode.pointee.otherClocks ?? []
    let now = Kernel.now()
    let nows = others.map { Kernel.now($0.clock) }
    var moments = dueMoments(from: base, own: now, now: now)
    var clocks = moments.isEmpty ? 0 : 1
    for (other, own) in zip(others, nows) {
      let start = state.collectedTimers.count
      collectTimers(of: other.heap, in: mode, limit: own)
      if state.collectedTimers.count > start { clocks += 1 }
      moments += dueMoments(from: start, own: own, now: now)
    }
    guard clocks > 1 else { return }
    let order = moments.indices.sorted { (moments[$0], $0) < (moments[$1], $1) }
    let collected = Array(state.collectedTimers[base...])
    for (place, index) in order.enumerated() { state.collectedTimers[base + place] = collected[index] }
  }

  /// On the suspending clock; negative if that is from before the machine was started.
  private func dueMoments(from start: Int, own: UInt64, now: UInt64) -> [Int64] {
    state.collectedTimers[start...].map { collected in
      let date = collected.timer._withUnsafeGuaranteedRef { timer in timer.withSchedule { $0.date(on: timer.clock) } }
      return Int64(clamping: now) - Int64(clamping: own > date ? own - date : 0)
    }
  }

  /// False if its clock was set back since it was collected: never early, it waits for its date again; and if it has been
  /// given a later date, for which it is armed already. Under the leaf lock.
  func isStillDue(_ timer: Timer, _ collected: LoopState.CollectedTimer) -> Bool {
    let now = Kernel.now(timer.clock)
    if timer.schedule.date(on: timer.clock) <= now {
      timer.schedule.settle(now: now)
      return true
    }
    if collected.mode.pointee.heap(of: timer.clock)?.isArmed(token: collected.token) == false {
      arm(timer, in: collected.mode, collected.token)
    }
    return false
  }

  /// The earliest, on the suspending clock as the clocks stand now; as reported.
  func firstDateOfAllClocks(in mode: ModePointer) -> UInt64? {
    let now = kernel.now()
    return mode.pointee.timers.map { timer in
      let (date, reported) = timer.withSchedule { ($0.date(on: timer.clock), $0.reported) }
      let ownNow = kernel.now(timer.clock)
      return (Time.convert(date, from: ownNow, to: now), Time.convert(reported, from: ownNow, to: now))
    }.min { $0.0 < $1.0 }?.1
  }
}
