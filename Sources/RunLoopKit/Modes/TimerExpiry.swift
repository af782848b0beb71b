/// The expiry that a mode's timers of one clock ask of their timerfd, and whether a pass has taken it. Under the loop's lock.
struct TimerExpiry {
  /// A pass has taken the expiry for this date and is about to fire what is due: no nested run is woken for that date again.
  private var taken: UInt64 = 0

  /// Wants one for the first timer; see `RunLoop.armTimer`. False if the timerfd cannot be armed.
  @inline(__always)
  func arm(_ port: TimerPort, for heap: TimerHeap) -> Bool {
    let wakeAt = heap.wakeAt
    // The expiry that a pass has taken is not asked for again.
    if wakeAt == taken { return true }
    // The first timer is gone or was moved out: no expiry at its old date (A1), whose place the next timer would take.
    if wakeAt == Time.forever {
      port.disarm()
      return true
    }
    if wakeAt > port.armed { port.harvested() }
    return port.want(wakeAt)
  }

  /// `soft`: the expiry has come, so that everything whose date has come may fire; else only what must.
  @inline(__always)
  func isDue(_ heap: TimerHeap, on clock: RunLoop.TimerClock, soft: Bool) -> Bool {
    let date = soft ? heap.first : heap.wakeAt
    guard date != Time.forever, soft || date != taken else { return false }
    return date <= Kernel.now(clock)
  }

  /// True if timers are due, which the caller is about to fire.
  @inline(__always)
  mutating func take(_ heap: TimerHeap, on clock: RunLoop.TimerClock, soft: Bool) -> Bool {
    guard isDue(heap, on: clock, soft: soft) else { return false }
    taken = heap.wakeAt
    return true
  }

  /// What is due is about to be collected, or there will be no pass for it.
  @inline(__always)
  mutating func forget() { taken = 0 }
}
