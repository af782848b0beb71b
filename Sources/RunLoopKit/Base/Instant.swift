extension RunLoop {
  /// A moment on one of the clocks that timers run on. Arithmetic saturates at both ends [RLK-TIME-1].
  ///
  /// The type says which clock it is: `Instant`, `ContinuousInstant` or `WallInstant`.
  /// - Thread: Any. - Complexity: O(1). - Source: clock_gettime(2).
  public protocol ClockInstant: InstantProtocol, Hashable, Sendable, CustomStringConvertible
  where Duration == Swift.Duration {
    /// The clock of all moments of this type.
    static var clock: TimerClock { get }
    /// Nanoseconds since the clock's beginning; `.max` means never.
    var nanoseconds: UInt64 { get set }
    /// Creates a moment from nanoseconds since the clock's beginning. Any number is allowed; `.max` means never.
    init(nanoseconds: UInt64)
  }

  /// A moment on the monotonic clock, which stands still while the machine is suspended.
  public struct Instant: ClockInstant {
    /// The suspending clock.
    public static var clock: TimerClock { .suspending }
    /// Nanoseconds since the machine was started, suspended time not included.
    public var nanoseconds: UInt64

    /// Creates a moment from `nanoseconds`. Any number is allowed; `.max` means never.
    @inlinable
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }
  }

  /// A moment on the continuous clock, which goes on while the machine is suspended.
  public struct ContinuousInstant: ClockInstant {
    /// The continuous clock.
    public static var clock: TimerClock { .continuous }
    /// Nanoseconds since the machine was started, suspended time included.
    public var nanoseconds: UInt64

    /// Creates a moment from `nanoseconds`. Any number is allowed; `.max` means never.
    @inlinable
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }
  }

  /// A moment on the wall clock, the time of day. No moment lies before 1970.
  public struct WallInstant: ClockInstant {
    /// The wall clock.
    public static var clock: TimerClock { .wall }
    /// Nanoseconds since 1970-01-01 00:00 UTC. Leap seconds are not counted, as in `CLOCK_REALTIME`.
    public var nanoseconds: UInt64

    /// Creates a moment from `nanoseconds`. Any number is allowed; `.max` means never.
    @inlinable
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }
  }
}

// Inlinable, so that programs call these functions without a witness table.
extension RunLoop.ClockInstant {
  /// The current moment. Reads the clock once.
  @inlinable
  public static var now: Self { Self(nanoseconds: Time.now(clock)) }
  /// Never.
  @inlinable
  public static var distantFuture: Self { Self(nanoseconds: .max) }

  /// The moment that is later by a duration, or earlier if the duration is negative. A part of a nanosecond counts as a
  /// whole one.
  @inlinable
  public func advanced(by duration: Duration) -> Self { Self(nanoseconds: Time.advance(nanoseconds, by: duration)) }

  /// How much later the other moment is; negative if it is earlier.
  @inlinable
  public func duration(to other: Self) -> Duration { Time.difference(nanoseconds, other.nanoseconds) }

  /// Whether the first moment is earlier.
  @inlinable
  public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }

  /// The number of nanoseconds, as in `5 ns`.
  public var description: String { "\(nanoseconds) ns" }
}

// If the context does not decide the type of `.now` or `.distantFuture`, it is `Instant`.
extension RunLoop.ClockInstant where Self == RunLoop.Instant {
  /// The current moment. Reads the suspending clock once.
  public static var now: Self { Self(nanoseconds: Kernel.now()) }
  /// Never.
  @inlinable
  public static var distantFuture: Self { Self(nanoseconds: .max) }
}
