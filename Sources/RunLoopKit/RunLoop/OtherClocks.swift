// What a mode's timers on other clocks than the suspending one add to FireTimers.swift: each clock has its heap and its
// timerfd, and an expiry of any of them fires what is due on all. Under the lock.

extension RunLoop {
  func armOtherClocks(of mode: ModePointer) {
    for other in mode.pointee.otherClocks ?? [] { other.arm() }
  }

  /// All are asked: what is due fires by the same expiry.
  func takeOtherExpiries(of mode: ModePointer, soft: Bool) -> Bool {
    var isDue = false
    for other in mode.pointee.otherClocks ?? [] where other.takeExpiry(soft: soft) { isDue = true }
    return isDue
  }

  /// They are about to be collected, or there will be no pass for them.
  func forgetExpiries(of mode: ModePointer) {
    mode.pointee.takenExpiry = 0
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

  /// Behind those of the suspending clock, which are collected already; then all are put in the order in which they became
  /// due: the one that is latest first; equally late ones by clock, and on one clock by date.
  func collectOtherTimers(in mode: ModePointer, from base: Int, limit: UInt64) {
    var latenesses = lateness(from: base, now: limit)
    var clocks = latenesses.isEmpty ? 0 : 1
    for other in mode.pointee.otherClocks ?? [] {
      let (start, now) = (state.pointee.collectedTimers.count, Kernel.now(other.clock))
      collectTimers(of: other.heap, in: mode, limit: now)
      if state.pointee.collectedTimers.count > start { clocks += 1 }
      latenesses += lateness(from: start, now: now)
    }
    guard clocks > 1 else { return }
    let order = latenesses.indices.sorted { (latenesses[$1], $0) < (latenesses[$0], $1) }
    let collected = Array(state.pointee.collectedTimers[base...])
    for (place, index) in order.enumerated() { state.pointee.collectedTimers[base + place] = collected[index] }
  }

  private func lateness(from start: Int, now: UInt64) -> [UInt64] {
    state.pointee.collectedTimers[start...].map { collected in
      let date = collected.timer._withUnsafeGuaranteedRef { timer in timer.withSchedule { $0.date } }
      return now > date ? now - date : 0
    }
  }

  /// False if its clock was set back since it was collected: never early, it waits for its date again; and if it has been
  /// given a later date, for which it is armed already. Under the leaf lock.
  func isStillDue(_ timer: Timer, _ collected: LoopState.CollectedTimer) -> Bool {
    if timer.schedule.date <= Kernel.now(timer.clock) { return true }
    if collected.mode.pointee.heap(of: timer.clock)?.isArmed(token: collected.token) == false {
      arm(timer, in: collected.mode, collected.token)
    }
    return false
  }

  /// The earliest, on the suspending clock as the clocks stand now; as reported.
  func firstDateOfAllClocks(in mode: ModePointer) -> UInt64? {
    let now = Kernel.now()
    return mode.pointee.timers.map { timer in
      let (date, reported) = timer.withSchedule { ($0.date, $0.reported) }
      let ownNow = Kernel.now(timer.clock)
      return (Time.convert(date, from: ownNow, to: now), Time.convert(reported, from: ownNow, to: now))
    }.min { $0.0 < $1.0 }?.1
  }
}
