/// The timers of one mode on another clock than the suspending one: their deadlines, and a timerfd on that clock, which is in
/// the mode's port set. Made with the first of them, and kept. Under the loop's lock.
final class OtherClock {
  let clock: RunLoop.TimerClock
  let heap: TimerHeap
  let port: TimerPort
  /// As `ModeState.takenExpiry`.
  private var takenExpiry: UInt64 = 0

  private init(_ clock: RunLoop.TimerClock, _ heap: TimerHeap, _ port: TimerPort) {
    self.clock = clock
    self.heap = heap
    self.port = port
  }

  static func make(_ clock: RunLoop.TimerClock) throws(RunLoopError) -> OtherClock {
    let port = try TimerPort(clock)
    do throws(RunLoopError) {
      return OtherClock(clock, try TimerHeap(), port)
    } catch {
      port.destroy()
      throw error
    }
  }

  deinit {
    heap.destroy()
    port.destroy()
  }

  var hint: PortSet.Hint { clock == .wall ? .wallTimer : .continuousTimer }

  /// Wants an expiry for the first timer; see `RunLoop.armTimer`.
  func arm() {
    let wakeAt = heap.wakeAt
    if wakeAt == takenExpiry { return }
    if wakeAt == Time.forever { return port.disarm() }
    if wakeAt > port.armed { port.harvested() }
    port.want(wakeAt)
  }

  /// See `RunLoop.isTimerDue`.
  func isDue(soft: Bool) -> Bool {
    let date = soft ? heap.first : heap.wakeAt
    guard date != Time.forever, soft || date != takenExpiry else { return false }
    return date <= Kernel.now(clock)
  }

  /// True if timers are due, which the caller is about to fire.
  func takeExpiry(soft: Bool) -> Bool {
    guard isDue(soft: soft) else { return false }
    takenExpiry = heap.wakeAt
    return true
  }

  func forgetExpiry() { takenExpiry = 0 }
}
