import RunLoopKit
internal import RunLoopLibc
import RunLoopTesting

/// The time and the threads of a scenario: the system's, or virtual ones.
final class Timeline: Sendable {
  private let virtual: VirtualTime?
  /// Multiplies every time of the scenario.
  private let scale: Double
  private let quantum: Double

  /// Call it on the main thread before any loop exists.
  init(isVirtual: Bool, scale: Double, quantum: Double) {
    // The virtual time reports a thread that computes for this long. Like the backstop's time, this one grows with the
    // scale, which is larger on slow machines.
    let patience = Duration.seconds(10 * max(1, scale))
    virtual = isVirtual ? VirtualTime.install(tick: .nanoseconds(100), whenStuck: .report(after: patience)) : nil
    self.scale = scale
    self.quantum = quantum
  }

  // MARK: Scaled time

  /// A scenario's milliseconds as a duration.
  func duration(_ milliseconds: Double) -> Duration {
    let scaled = milliseconds * scale
    return longest(scaled / 1000) ?? .milliseconds(scaled)
  }

  /// Returns the longest duration if `seconds` may exceed what a duration holds, some 1.7e20 seconds; otherwise nil.
  private func longest(_ seconds: Double) -> Duration? {
    seconds.magnitude < 1e18 ? nil : .seconds(seconds < 0 ? Int64.min : Int64.max)
  }

  /// Converts the limit of a run. Returns nil if the number is not-a-number: the run has no limit. Does not scale zero,
  /// negative limits, and limits of 1e6 s or more, which no scenario reaches.
  func runLimit(_ seconds: Double) -> Duration? {
    if seconds.isNaN { return nil }
    return longest(seconds) ?? .seconds(seconds > 0 && seconds < 1e6 ? seconds * scale : seconds)
  }

  /// The unscaled milliseconds of a duration.
  func milliseconds(_ duration: Duration) -> Double {
    duration / .milliseconds(1) / scale
  }

  /// The duration, rounded down to a multiple of `quantum`, in unscaled milliseconds.
  func bucket(_ duration: Duration) -> Int {
    Int(clamping: (milliseconds(duration) / quantum).rounded(.down) * quantum)
  }

  // MARK: Waiting

  func sleep(_ milliseconds: Double) {
    let deadline = RunLoop.Instant.now.advanced(by: duration(milliseconds))
    if let virtual {
      virtual.sleep(until: deadline)
      return
    }
    var time = timespec(deadline)
    while clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &time, nil) == EINTR {}
  }

  func burn(_ milliseconds: Double) {
    let deadline = RunLoop.Instant.now.advanced(by: duration(milliseconds))
    if let virtual {
      virtual.sleep(until: deadline)
    } else {
      while RunLoop.Instant.now < deadline {}
    }
  }

  /// Counts one round of a program's loop, so that such a loop does not stop the virtual clock.
  func loopedOnce() {
    virtual?.spin()
  }

  func makeGate() -> ThreadGate {
    if let virtual { return ThreadGate(virtual.makeGate()) }
    return ThreadGate()
  }

  func start(_ body: @escaping @Sendable () -> Void) -> WorkerThread {
    if let virtual { return .virtual(virtual.start(body)) }
    return .real(startThread(body))
  }

  /// Reads the system's clock, even with virtual time.
  private static func machineNow() -> RunLoop.Instant {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return RunLoop.Instant(nanoseconds: UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec))
  }

  /// With virtual time, calls `body` after the watchdog's time (at least ten seconds, scaled) on the system's clock. A
  /// virtual clock stands still while a thread computes, so a virtual watchdog cannot find a thread that computes for
  /// ever.
  func startBackstop(_ milliseconds: Double, _ body: @escaping @Sendable () -> Void) {
    guard virtual != nil else { return }
    let duration = duration(max(milliseconds, 10_000))
    let handle = startThread {
      var moment = timespec(Self.machineNow().advanced(by: duration))
      while clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &moment, nil) == EINTR {}
      body()
    }
    pthread_detach(handle)
  }
}
