extension RunLoop {
  /// The clocks that timers run on. A timer's clock is that of its date's type.
  /// - Thread: Any: a value.
  public enum TimerClock: UInt8, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// Stands still while the machine is suspended, and is never set: `Instant`. Source: CLOCK_MONOTONIC.
    case suspending
    /// Goes on while the machine is suspended, and is never set: `ContinuousInstant`. Source: CLOCK_BOOTTIME.
    case continuous
    /// The time of day, which people and programs set: `WallInstant`. Source: CLOCK_REALTIME.
    case wall

    /// The case's name.
    public var description: String {
      switch self {
      case .suspending: "suspending"
      case .continuous: "continuous"
      case .wall: "wall"
      }
    }
  }

  /// A moment on one of the clocks: nanoseconds that saturate at both ends. `Instant`, `ContinuousInstant`,
  /// `WallInstant`; not for others to conform to.
  /// - Thread: Any: a value.
  public protocol ClockInstant: InstantProtocol, Hashable, Sendable, CustomStringConvertible
  where Duration == Swift.Duration {
    /// The clock that it is on.
    static var clock: TimerClock { get }
    /// Since the clock's beginning; `.max` is never.
    var nanoseconds: UInt64 { get set }
    /// From nanoseconds since the clock's beginning: any number; `.max` is never.
    init(nanoseconds: UInt64)
  }

  /// A moment on the continuous clock, which goes on while the machine is suspended. Saturates at both ends.
  /// - Thread: Any: a value.
  public struct ContinuousInstant: ClockInstant {
    /// The continuous one.
    public static var clock: TimerClock { .continuous }
    /// Since the machine was started, suspended time included.
    public var nanoseconds: UInt64
    /// From nanoseconds since the machine was started: any number; `.max` is never.
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }
  }

  /// A moment on the wall clock, as people tell it. Saturates at both ends; none lies before 1970.
  /// - Thread: Any: a value.
  public struct WallInstant: ClockInstant {
    /// The wall clock.
    public static var clock: TimerClock { .wall }
    /// Since 1970-01-01 00:00 UTC, leap seconds not counted; as `CLOCK_REALTIME` has them.
    public var nanoseconds: UInt64
    /// From nanoseconds since 1970-01-01 00:00 UTC: any number; `.max` is never.
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }
  }
}

extension RunLoop.ClockInstant {
  /// This moment, by one reading of the clock.
  public static var now: Self { Self(nanoseconds: Kernel.now(clock)) }
  /// Never.
  public static var distantFuture: Self { Self(nanoseconds: .max) }

  /// Later by a duration, rounded up to whole nanoseconds; earlier by a negative one.
  public func advanced(by duration: Duration) -> Self {
    Self(nanoseconds: RunLoop.Instant(nanoseconds: nanoseconds).advanced(by: duration).nanoseconds)
  }

  /// How much later the other one is; negative if it is earlier.
  public func duration(to other: Self) -> Duration {
    RunLoop.Instant(nanoseconds: nanoseconds).duration(to: RunLoop.Instant(nanoseconds: other.nanoseconds))
  }

  /// Earlier.
  public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }

  /// Nanoseconds.
  public var description: String { "\(nanoseconds) ns" }
}
