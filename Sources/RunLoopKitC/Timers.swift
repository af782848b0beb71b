package import CRunLoopKit
internal import RunLoopKit

// The functions of <runloopkit/timer.h>, where their contracts stand.

@c @implementation
package func rlk_timer_create(
  _ given: UnsafePointer<rlk_timer_options>!, _ ret_timer: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let given = options(given), let fire = given.fire, let ret_timer else { return Status.invalid }
  guard given.clock.rawValue <= RLK_CLOCK_REALTIME.rawValue else { return Status.invalid }
  let held = Held(fire, given.context, given.release, retain: given.retain)
  let body: @Sendable (RunLoop.Timer) -> Void = { timer in held.call(of: timer) { $0(borrowed(timer), $1) } }
  let date = given.fire_date_ns
  func made(_ fireDate: some RunLoop.ClockInstant) -> RunLoop.Timer {
    RunLoop.Timer(
      fireDate: fireDate, interval: Duration(inC: given.interval_ns), tolerance: Duration(inC: given.tolerance_ns),
      body)
  }
  let timer =
    switch given.clock {
    case RLK_CLOCK_BOOTTIME: made(RunLoop.ContinuousInstant(nanoseconds: date))
    case RLK_CLOCK_REALTIME: made(RunLoop.WallInstant(nanoseconds: date))
    default: made(RunLoop.Instant(nanoseconds: date))
    }
  timer.context = held.described(given.describe)
  ret_timer.pointee = owned(timer)
  return 0
}

@c @implementation
package func rlk_timer_set_fire_date(_ timer: OpaquePointer!, _ date_ns: UInt64) -> Int32 {
  guard let timer = item(timer, as: RunLoop.Timer.self) else { return Status.invalid }
  let end = end(of: timer)
  guard end == 0 else { return end }
  RaceDetector.handOver(timer)
  switch timer.clock {
  case .suspending: timer.fireDate = RunLoop.Instant(nanoseconds: date_ns)
  case .continuous: timer.continuousFireDate = RunLoop.ContinuousInstant(nanoseconds: date_ns)
  case .wall: timer.wallFireDate = RunLoop.WallInstant(nanoseconds: date_ns)
  }
  return 0
}

@c @implementation
package func rlk_timer_fire_date(_ timer: OpaquePointer!, _ ret_date_ns: UnsafeMutablePointer<UInt64>!) -> Int32 {
  guard let timer = item(timer, as: RunLoop.Timer.self), let ret_date_ns else { return Status.invalid }
  let end = end(of: timer)
  guard end == 0 else { return end }
  let date: UInt64? =
    switch timer.clock {
    case .suspending: timer.fireDate?.nanoseconds
    case .continuous: timer.continuousFireDate?.nanoseconds
    case .wall: timer.wallFireDate?.nanoseconds
    }
  guard let date else { return Status.gone }
  ret_date_ns.pointee = date
  return 0
}

@c @implementation
package func rlk_timer_set_tolerance(_ timer: OpaquePointer!, _ tolerance_ns: UInt64) -> Int32 {
  guard let timer = item(timer, as: RunLoop.Timer.self) else { return Status.invalid }
  let end = end(of: timer)
  guard end == 0 else { return end }
  timer.tolerance = Duration(inC: tolerance_ns)
  return 0
}
