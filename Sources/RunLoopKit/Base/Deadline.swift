internal import CRunLoopCore

/// The moment until which a thread waits for another one, on the clock of its `TurnTaking`.
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

  /// Without `TurnTaking` a thread sleeps by the system's clock, also if a test scripts the clock of its loops.
  private static func now() -> UInt64 {
    Kernel.current?.turns == nil ? rlc_now(RLC_CLOCK_MONOTONIC) : Kernel.now()
  }
}
