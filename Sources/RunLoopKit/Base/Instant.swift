extension RunLoop {
  /// A moment on one of the clocks that timers run on. Saturates at both ends [RLK-TIME-1].
  ///
  /// Its type says which clock that is: `Instant`, `ContinuousInstant` or `WallInstant`.
  /// - Thread: Any. - Complexity: O(1). - Source: clock_gettime(2).
  public protocol ClockInstant: InstantProtocol, Hashable, Sendable, CustomStringConvertible
  where Duration == Swift.Duration {
    /// The clock of all moments of this type.
    static var clock: TimerClock { get }
    /// Nanoseconds since the clock's beginning; `.max` is never.
    var nanoseconds: UInt64 { get set }
    /// Creates a moment from nanoseconds since the clock's beginning: any number; `.max` is never.
    init(nanoseconds: UInt64)
  }

  /// A moment on the monotonic clock, which stands still while the machine is suspended.
  public struct Instant: ClockInstant {
    /// The suspending clock.
    public static var clock: TimerClock { .suspending }
    /// Nanoseconds on the clock, which begins at the machine's start.
    public var nanoseconds: UInt64

    /// Creates a moment from nanoseconds since the machine was started: any number; `.max` is never.
    @inlinable
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }
  }

  /// A moment on the continuous clock, which goes on while the machine is suspended.
  public struct ContinuousInstant: ClockInstant {
    /// The continuous clock.
    public static var clock: TimerClock { .continuous }
    /// Nanoseconds since the machine was started, suspended time included.
    public var nanoseconds: UInt64

    /// Creates a moment from nanoseconds since the machine was started: any number; `.max` is never.
    @inlinable
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }
  }

  /// A moment on the wall clock, the time of day. No moment lies before 1970.
  public struct WallInstant: ClockInstant {
    /// The wall clock.
    public static var clock: TimerClock { .wall }
    /// Nanoseconds since 1970-01-01 00:00 UTC, leap seconds not counted, as `CLOCK_REALTIME` has them.
    public var nanoseconds: UInt64

    /// Creates a moment from nanoseconds since 1970-01-01 00:00 UTC: any number; `.max` is never.
    @inlinable
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }
  }
}

// Inlined, so that programs do not pay for the protocol.
extension RunLoop.ClockInstant {
  /// This moment, by one reading of the clock.
  @inlinable
  public static var now: Self { Self(nanoseconds: Time.now(clock)) }
  /// Never.
  @inlinable
  public static var distantFuture: Self { Self(nanoseconds: .max) }

  /// The moment that is later by a duration, rounded up to whole nanoseconds; earlier if the duration is negative.
  @inlinable
  public func advanced(by duration: Duration) -> Self { Self(nanoseconds: Time.advance(nanoseconds, by: duration)) }

  /// How much later the other moment is; negative if it is earlier.
  @inlinable
  public func duration(to other: Self) -> Duration { Time.difference(nanoseconds, other.nanoseconds) }

  /// Whether the first moment is earlier.
  @inlinable
  public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }

  /// In nanoseconds.
  public var description: String { "\(nanoseconds) ns" }
}

// Where nothing else gives the type, `.now` and `.distantFuture` are moments of the suspending clock.
extension RunLoop.ClockInstant where Self == RunLoop.Instant {
  /// This moment, by one reading of the suspending clock.
  public static var now: Self { Self(nanoseconds: Kernel.now()) }
  /// Never.
  @inlinable
  public static var distantFuture: Self { Self(nanoseconds: .max) }
}
