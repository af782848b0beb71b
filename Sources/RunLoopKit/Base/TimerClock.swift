internal import CRunLoopCore

extension RunLoop {
  /// The clocks that timers run on. Each has a type for its moments.
  public enum TimerClock: Hashable, Sendable, CaseIterable {
    /// Stands still while the machine is suspended, and is never set. Its moments are `Instant`s. Source:
    /// CLOCK_MONOTONIC.
    case suspending
    /// Goes on while the machine is suspended, and is never set. Its moments are `ContinuousInstant`s. Source:
    /// CLOCK_BOOTTIME.
    case continuous
    /// The time of day, which people and programs set. Its moments are `WallInstant`s. Source: CLOCK_REALTIME.
    case wall

    /// The place among `allCases`.
    var place: UInt8 {
      switch self {
      case .suspending: 0
      case .continuous: 1
      case .wall: 2
      }
    }

    /// The clock at a place among `allCases`.
    init(place: UInt8) {
      switch place {
      case 0: self = .suspending
      case 1: self = .continuous
      default: self = .wall
      }
    }
  }
}

extension RunLoop.TimerClock {
  /// The core's number of the clock.
  var number: rlc_clock {
    switch self {
    case .suspending: RLC_CLOCK_MONOTONIC
    case .continuous: RLC_CLOCK_BOOTTIME
    case .wall: RLC_CLOCK_REALTIME
    }
  }
}
