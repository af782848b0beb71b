// Arms a timer in each of the loop's modes that have the timer.

extension RunLoop {
  /// Carries out a change, and has a sleeping loop make a pass for it if rule 18 says so. Returns false if the timer is
  /// not in this loop any more. - Thread: Any.
  /// - Parameter isOwn: True if the loop is the calling thread's own.
  func reschedule(_ timer: Timer, _ change: Timer.Change, isOwn: Bool) -> Bool {
    let now = kernel.now(timer.clock)
    let isHere = lock.withLock { timer.reschedule(change, now: now, on: self) }
    if isHere, case .date(_, causesPass: true) = change, !isOwn {  // rule 18
      wakes.dateHasMoved()
    }
    return isHere
  }
}

extension RunLoop.Timer {
  /// Carries out a change of date or tolerance. Returns false if the timer has left this loop. Under the lock.
  func reschedule(_ change: Change, now: UInt64, on loop: RunLoop) -> Bool {
    withLinks { links in
      guard let (mode, token) = links.only(of: loop) else { return reschedule(change, now: now, links, on: loop) }
      apply(change, now: now)
      if isFiring { return true }
      if case .tolerance = change { spread(links, on: loop) } else { arm(in: mode, token: token, on: loop) }
      return true
    }
  }

  /// For a timer in several modes of the loop, or in none.
  @inline(never)
  private func reschedule(_ change: Change, now: UInt64, _ links: ItemLinks, on loop: RunLoop) -> Bool {
    guard links.contains(where: { $0.loop === loop && $0.mode != nil }) else { return false }
    apply(change, now: now)
    if isFiring { return true }
    if case .tolerance = change { spread(links, on: loop) } else { arm(links, on: loop) }
    return true
  }

  // The functions below are called under the timer's leaf lock, too.

  /// Arms the timer in each of its modes of the loop. Returns false if it is in none.
  @discardableResult
  @inline(__always)
  func arm(_ links: ItemLinks, isAhead: Bool = false, on loop: RunLoop) -> Bool {
    if let (mode, token) = links.only(of: loop) {
      arm(in: mode, token: token, isAhead: isAhead, on: loop)
      return true
    }
    var isHere = false
    links.forEach { link in
      guard link.loop === loop, let mode = link.mode else { return }
      arm(in: mode, token: link.token, isAhead: isAhead, on: loop)
      isHere = true
    }
    return isHere
  }

  /// - Parameter isAhead: True if the timer's date is known to lie ahead.
  func arm(in mode: ModePointer, token: UInt64, isAhead: Bool = false, on loop: RunLoop) {
    mode.timers.set(self, token: token)
    mode.armTimers(isAhead: isAhead, on: loop)
  }

  /// Tells the heaps the timer's new tolerance. For a collected timer it counts only when the timer goes back.
  func spread(_ links: ItemLinks, on loop: RunLoop) {
    links.forEach { link in
      guard link.loop === loop, let mode = link.mode else { return }
      mode.timers.spread(self, token: link.token)
      mode.armTimers(on: loop)
    }
  }

  @inline(__always)
  func clear(_ links: ItemLinks, on loop: RunLoop) {
    if let (mode, token) = links.only(of: loop) { return mode.timers.clear(self, token: token) }
    links.forEach { if $0.loop === loop { $0.mode?.timers.clear(self, token: $0.token) } }
  }
}
