extension RunLoop {
  /// A moment on the monotonic clock, which stands still while the machine is suspended. Saturates at both ends
  /// [RLK-TIME-1].
  public struct Instant: InstantProtocol, Hashable, Sendable, CustomStringConvertible, ClockInstant {
    package static var clock: TimerClock { .suspending }
    /// Nanoseconds on the clock, which begins at the machine's start.
    public var nanoseconds: UInt64

    /// Creates a moment from nanoseconds since the machine was started: any number; `.max` is never.
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// This moment, by one reading of the clock.
    public static var now: Instant { Instant(nanoseconds: Kernel.now()) }
    /// Never.
    public static var distantFuture: Instant { Instant(nanoseconds: .max) }

    /// Later by a duration, rounded up to whole nanoseconds; earlier by a negative one.
    public func advanced(by duration: Duration) -> Instant {
      if duration >= .zero { return Instant(nanoseconds: Time.add(nanoseconds, duration.nanosecondsRoundedUp)) }
      // The most negative duration has no opposite.
      let back = (Duration.zero - max(duration, .seconds(Int64.min))).nanosecondsRoundedUp
      return Instant(nanoseconds: nanoseconds > back ? nanoseconds - back : 0)
    }

    /// How much later the other moment is; negative if it is earlier.
    public func duration(to other: Instant) -> Duration {
      other.nanoseconds >= nanoseconds
        ? Duration(nanoseconds: other.nanoseconds - nanoseconds)
        : Duration.zero - Duration(nanoseconds: nanoseconds - other.nanoseconds)
    }

    /// Whether the first moment is earlier.
    public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }

    /// In nanoseconds.
    public var description: String { "\(nanoseconds) ns" }
  }
}
