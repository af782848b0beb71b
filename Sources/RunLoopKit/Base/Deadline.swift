internal import CRunLoopCore

/// The moment at which a thread stops waiting for another thread.
package struct Deadline {
  package let nanoseconds: UInt64

  package static let never = Deadline(nil)

  package init(_ timeout: Duration?) {
    nanoseconds = timeout.map { Time.add(Self.now(), $0.nanosecondsRoundedUp) } ?? Time.forever
  }

  /// This deadline, or a millisecond from now if that is earlier: for polling.
  var orSoon: Deadline {
    Deadline(nanoseconds: min(nanoseconds, Time.add(Self.now(), 1_000_000)))
  }

  private init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  var hasPassed: Bool { nanoseconds != Time.forever && nanoseconds <= Self.now() }

  /// Reads the test's clock if the thread takes turns. Otherwise reads the system's clock, even if a test sets the
  /// clock of the thread's loop.
  private static func now() -> UInt64 {
    Kernel.current?.turns == nil ? rlc_now(RLC_CLOCK_MONOTONIC) : Kernel.now()
  }
}
