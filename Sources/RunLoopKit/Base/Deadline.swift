internal import CRunLoopCore

/// The moment at which a thread stops waiting for another thread.
package struct Deadline {
  package let nanoseconds: UInt64

  package static let never = Deadline(nil)

  package init(_ timeout: Duration?) {
    nanoseconds = timeout.map { Time.add(Self.now(), $0.nanosecondsRoundedUp) } ?? Time.forever
  }

  /// The earlier of this deadline and a millisecond from now, for a caller that polls.
  var orSoon: Deadline {
    Deadline(nanoseconds: min(nanoseconds, Time.add(Self.now(), 1_000_000)))
  }

  private init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  var hasPassed: Bool { nanoseconds != Time.forever && nanoseconds <= Self.now() }

  /// Reads the test's clock if the thread's kernel has `turns`. Otherwise reads the system's clock, even if a test has
  /// replaced the clock of the thread's loop.
  private static func now() -> UInt64 {
    Kernel.current?.turns == nil ? rlc_now(RLC_CLOCK_MONOTONIC) : Kernel.now()
  }
}
