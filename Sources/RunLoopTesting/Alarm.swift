import RunLoopKit
internal import Synchronization

extension Turns {
  func alarm(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)? {
    let (alarm, loop) = (Alarm(body), RunLoop.current)
    let timer = RunLoop.Timer(fireDate: RunLoop.Instant.now.advanced(by: delay)) { _ in alarm.ring() }
    timer.label = "time limit of a task"
    timer.isHidden = true
    timer.keepsRunning = false
    do {
      try loop.add(timer, to: .common)
      // The time limit must also fire in the mode that runs now, if that is no common mode.
      if let mode = loop.currentMode, !loop.isCommonMode(mode) { try loop.add(timer, to: mode) }
    } catch {
      alarm.cancel()
      timer.invalidate()
      return nil
    }
    // Only the loop retains the timer, and only the timer retains the alarm: the end of the loop releases both.
    return { [weak alarm, weak timer] in
      alarm?.cancel()
      timer?.invalidate()
    }
  }
}

/// Rings once: when its time has come, or when the loop of its timer has ended.
private final class Alarm: Sendable {
  private let isOver = Atomic<Bool>(false)
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  func ring() { if !isOver.exchange(true, ordering: .acquiringAndReleasing) { body() } }
  func cancel() { isOver.store(true, ordering: .releasing) }

  deinit { ring() }
}
