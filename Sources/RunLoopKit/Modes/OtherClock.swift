/// The timers of one mode on another clock than the suspending one: their deadlines, and a timerfd on that clock, which is in
/// the mode's port set. Made with the first of them, and kept. Under the loop's lock.
final class OtherClock {
  let clock: RunLoop.TimerClock
  let heap: TimerHeap
  let port: TimerPort
  private var expiry = TimerExpiry()

  private init(_ clock: RunLoop.TimerClock, _ heap: TimerHeap, _ port: TimerPort) {
    self.clock = clock
    self.heap = heap
    self.port = port
  }

  static func make(_ clock: RunLoop.TimerClock, _ kernel: Kernel?) throws(RunLoopError) -> OtherClock {
    let port = try TimerPort(clock, kernel)
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
  func arm() -> Bool { expiry.arm(port, for: heap) }

  func isDue(soft: Bool) -> Bool { expiry.isDue(heap, on: clock, soft: soft) }

  /// True if timers are due, which the caller is about to fire.
  func takeExpiry(soft: Bool) -> Bool { expiry.take(heap, on: clock, soft: soft) }

  func forgetExpiry() { expiry.forget() }
}
