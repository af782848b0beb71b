extension RunLoop {
  /// The clocks that timers run on: each has a type for its moments.
  public enum TimerClock: Hashable, Sendable, CaseIterable, CustomStringConvertible {
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

    /// The place among `allCases`.
    @inline(__always)
    var place: UInt8 {
      switch self {
      case .suspending: 0
      case .continuous: 1
      case .wall: 2
      }
    }

    /// The clock at a place among `allCases`.
    @inline(__always)
    init(place: UInt8) {
      switch place {
      case 0: self = .suspending
      case 1: self = .continuous
      default: self = .wall
      }
    }
  }

  /// What the moments of all clocks share, for code that serves any of them.
  package protocol ClockInstant: InstantProtocol, Hashable, Sendable, CustomStringConvertible
  where Duration == Swift.Duration {
    static var clock: TimerClock { get }
    /// Since the clock's beginning; `.max` is never.
    var nanoseconds: UInt64 { get set }
    init(nanoseconds: UInt64)
    static var now: Self { get }
    static var distantFuture: Self { get }
  }

  /// A moment on the continuous clock, which goes on while the machine is suspended. Saturates at both ends.
  public struct ContinuousInstant: InstantProtocol, Hashable, Sendable, CustomStringConvertible, ClockInstant {
    package static var clock: TimerClock { .continuous }
    /// Since the machine was started, suspended time included.
    public var nanoseconds: UInt64

    /// Creates a moment from nanoseconds since the machine was started: any number; `.max` is never.
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// This moment, by one reading of the clock.
    public static var now: ContinuousInstant { ContinuousInstant(nanoseconds: Kernel.now(clock)) }
    /// Never.
    public static var distantFuture: ContinuousInstant { ContinuousInstant(nanoseconds: .max) }

    /// Later by a duration, rounded up to whole nanoseconds; earlier by a negative one.
    public func advanced(by duration: Duration) -> ContinuousInstant {
      ContinuousInstant(nanoseconds: Instant(nanoseconds: nanoseconds).advanced(by: duration).nanoseconds)
    }

    /// How much later the other moment is; negative if it is earlier.
    public func duration(to other: ContinuousInstant) -> Duration {
      Instant(nanoseconds: nanoseconds).duration(to: Instant(nanoseconds: other.nanoseconds))
    }

    /// Whether the first moment is earlier.
    public static func < (a: ContinuousInstant, b: ContinuousInstant) -> Bool { a.nanoseconds < b.nanoseconds }

    /// In nanoseconds.
    public var description: String { "\(nanoseconds) ns" }
  }

  /// A moment on the wall clock, as people tell it. Saturates at both ends; no moment lies before 1970.
  public struct WallInstant: InstantProtocol, Hashable, Sendable, CustomStringConvertible, ClockInstant {
    package static var clock: TimerClock { .wall }
    /// Since 1970-01-01 00:00 UTC, leap seconds not counted; as `CLOCK_REALTIME` has them.
    public var nanoseconds: UInt64

    /// Creates a moment from nanoseconds since 1970-01-01 00:00 UTC: any number; `.max` is never.
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// This moment, by one reading of the clock.
    public static var now: WallInstant { WallInstant(nanoseconds: Kernel.now(clock)) }
    /// Never.
    public static var distantFuture: WallInstant { WallInstant(nanoseconds: .max) }

    /// Later by a duration, rounded up to whole nanoseconds; earlier by a negative one.
    public func advanced(by duration: Duration) -> WallInstant {
      WallInstant(nanoseconds: Instant(nanoseconds: nanoseconds).advanced(by: duration).nanoseconds)
    }

    /// How much later the other moment is; negative if it is earlier.
    public func duration(to other: WallInstant) -> Duration {
      Instant(nanoseconds: nanoseconds).duration(to: Instant(nanoseconds: other.nanoseconds))
    }

    /// Whether the first moment is earlier.
    public static func < (a: WallInstant, b: WallInstant) -> Bool { a.nanoseconds < b.nanoseconds }

    /// In nanoseconds.
    public var description: String { "\(nanoseconds) ns" }
  }
}
