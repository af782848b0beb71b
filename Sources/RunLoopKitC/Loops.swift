package import CRunLoopKit
internal import RunLoopKit

// The functions of <runloopkit/loop.h>, where their contracts stand.

@c @implementation
package func rlk_now(_ clock: rlk_clock) -> UInt64 {
  switch clock {
  case RLK_CLOCK_MONOTONIC: RunLoop.Instant.now.nanoseconds
  case RLK_CLOCK_BOOTTIME: RunLoop.ContinuousInstant.now.nanoseconds
  case RLK_CLOCK_REALTIME: RunLoop.WallInstant.now.nanoseconds
  default: 0
  }
}

@c @implementation
package func rlk_loop_current() -> OpaquePointer! { borrowed(RunLoop.current) }

@c @implementation
package func rlk_loop_main() -> OpaquePointer! { borrowed(RunLoop.main) }

@c @implementation
package func rlk_loop_retain(_ loop: OpaquePointer!) -> OpaquePointer! { retain(loop, RunLoop.self) }

@c @implementation
package func rlk_loop_release(_ loop: OpaquePointer!) { release(loop, RunLoop.self) }

// MARK: Runs

@c @implementation
package func rlk_loop_run_in_mode(
  _ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ deadline_ns: UInt64, _ return_after_source_handled: Bool
) -> Int32 {
  guard let mode = mode(name) else { return Status.invalid }
  return Status.of {
    let loop = loop(handle)
    defer { RaceDetector.takeOver(loop) }  // from threads that have stopped or woken the loop
    if deadline_ns == .max {
      return try loop.run(in: mode, for: nil, returnAfterSourceHandled: return_after_source_handled).rawValue
    }
    let deadline = RunLoop.Instant(nanoseconds: deadline_ns)
    return try loop.run(in: mode, until: deadline, returnAfterSourceHandled: return_after_source_handled).rawValue
  }
}

@c @implementation
package func rlk_loop_run_until_stopped(_ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> Int32 {
  guard let mode = mode(name) else { return Status.invalid }
  return Status.of {
    let loop = loop(handle)
    defer { RaceDetector.takeOver(loop) }
    return try loop.runUntilStopped(in: mode).rawValue
  }
}

@c @implementation
package func rlk_loop_stop(_ handle: OpaquePointer!) -> Int32 {
  changing(handle) {
    RaceDetector.handOver($0)
    $0.stop()
  }
}

@c @implementation
package func rlk_loop_wake_up(_ handle: OpaquePointer!) -> Int32 {
  changing(handle) {
    RaceDetector.handOver($0)
    $0.wakeUp()
  }
}

@c @implementation
package func rlk_loop_set_serves_main_queue(_ handle: OpaquePointer!, _ serves: Bool) -> Int32 {
  let loop = loop(handle)
  guard !loop.isInThisProcess || loop === RunLoop.main else { return Status.invalid }
  return changing(handle) { $0.servesMainQueue = serves }
}

// MARK: Modes

@c @implementation
package func rlk_loop_add_common_mode(_ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> Int32 {
  guard let mode = mode(name), mode != .common else { return Status.invalid }
  return changing(handle) { $0.addCommonMode(mode) }
}

@c @implementation
package func rlk_loop_is_common_mode(_ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> Int32 {
  guard let mode = mode(name) else { return Status.invalid }
  return loop(handle).isCommonMode(mode).inC
}

@c @implementation
package func rlk_loop_is_empty(_ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> Int32 {
  guard let mode = mode(name) else { return Status.invalid }
  return loop(handle).isEmpty(in: mode).inC
}

@c @implementation
package func rlk_loop_copy_current_mode(
  _ handle: OpaquePointer!, _ buffer: UnsafeMutablePointer<CChar>!, _ size: Int
) -> Int32 {
  copy(loop(handle).currentMode?.rawValue ?? "", to: buffer, size)
}

@c @implementation
package func rlk_loop_visit_modes(
  _ handle: OpaquePointer!, _ visit: rlk_mode_fn!, _ context: UnsafeMutableRawPointer!
) -> Int32 {
  guard let visit else { return Status.invalid }
  let modes = loop(handle).modes
  for mode in modes { mode.rawValue.withCString { visit($0, context) } }
  return Int32(clamping: modes.count)
}

@c @implementation
package func rlk_loop_next_fire_date(
  _ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ ret_date_ns: UnsafeMutablePointer<UInt64>!
) -> Int32 {
  guard let mode = mode(name), let ret_date_ns else { return Status.invalid }
  ret_date_ns.pointee = loop(handle).nextFireDate(in: mode)?.nanoseconds ?? .max
  return 0
}

// MARK: State

@c @implementation
package func rlk_loop_is_current(_ handle: OpaquePointer!) -> Bool { loop(handle).isCurrent }

@c @implementation
package func rlk_loop_is_waiting(_ handle: OpaquePointer!) -> Bool { loop(handle).isWaiting }

@c @implementation
package func rlk_loop_has_ended(_ handle: OpaquePointer!) -> Bool { loop(handle).hasEnded }

@c @implementation
package func rlk_loop_describe(_ handle: OpaquePointer!, _ buffer: UnsafeMutablePointer<CChar>!, _ size: Int) -> Int32 {
  copy(loop(handle).description, to: buffer, size)
}
